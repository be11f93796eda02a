"""What the experiments share: their data, their clock, and the files that hold their results."""
