"""Matches of nodes of two networks: messages between edges, a path from convex to concave, exchanges."""
