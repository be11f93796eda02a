"""Beyond the paper: cells measured by two assays, and the shapes of neurons."""
