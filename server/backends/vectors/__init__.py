"""Vector stores, one vendor per file, and how one set of vectors replaces another."""
