"""Shared by all commands: the console, output, findings, progress, flags, and calls of one operation."""
