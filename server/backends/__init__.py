"""Stores and models behind the protocols of ``storage`` and ``retrieval/graph``; one vendor per file."""
