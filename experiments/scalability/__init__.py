"""How the time of each distance grows with the number of points: the paper's Fig. 2."""
