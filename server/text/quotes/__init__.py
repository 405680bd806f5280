"""Checks of quotes: whether a quote stands in a text word for word, and if not, which part of it is closest."""
