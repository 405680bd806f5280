"""The demonstration: Python's own documentation, and one research task done with and without a script."""
