"""Stores and models behind the protocols of ``base``; one vendor per file."""
