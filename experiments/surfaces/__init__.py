"""Which point of two surfaces is which: align_meshes beside functional maps."""
