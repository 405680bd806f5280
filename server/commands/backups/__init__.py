"""``winnow backup`` and ``winnow restore``."""
