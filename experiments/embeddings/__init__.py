"""Which point of two embeddings is which: align_embeddings beside POT, Procrustes and MUSE."""
