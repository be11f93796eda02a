"""Barycenters in the plane of digits in space, by AE and by AW: the paper's appendix."""
