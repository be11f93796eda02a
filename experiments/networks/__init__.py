"""Which node of two networks is which: align_graphs beside FAQ and BAPG."""
