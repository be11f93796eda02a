"""What the experiments share: their data, their clock, and the files in which their answers stand."""
