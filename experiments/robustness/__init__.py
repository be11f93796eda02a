"""The paper's question 3, and its robust Gromov-Wasserstein: finding scaled and noisy shapes again."""
