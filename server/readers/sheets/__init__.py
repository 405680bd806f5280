"""Shared parts of the readers of sheets: parts of tables, number formats, checks of binary workbooks."""
