"""Readers of formats that are not plain text; they run only in the children of ``ingest/children``."""
