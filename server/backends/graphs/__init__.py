"""Graph stores, one vendor per file."""
