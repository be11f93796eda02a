"""Which node of one network is which of another: messages between edges, a path from convex to concave, exchanges."""
