"""The experiments of the paper, one folder a question, on the public face of anchorot alone."""
