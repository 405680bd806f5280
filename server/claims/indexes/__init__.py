"""Indexes in the file of entries: of the words of claims, and of the passages that they cite."""
