"""Readers of formats that are not plain text; they run only in the child process of ``ingest/parsing``."""
