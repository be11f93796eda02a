"""Which tests see which differences between collections of spaces."""
