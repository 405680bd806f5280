"""Quotes: selects them from passages, reads them from Markdown, verifies that a text has them word for word."""
