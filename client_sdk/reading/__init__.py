"""Whole documents, and the parts of their Markdown: sections, blocks of code, tables, links."""
