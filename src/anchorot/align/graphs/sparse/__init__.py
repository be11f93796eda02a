"""The alignment of large networks: messages between a few candidates for each node, and ever better candidates."""
