"""Completion scripts for shells, and the manual page, from the commands themselves."""
