"""Readers of the formats of bibliographies."""
