"""Shared by all commands: the console, output, progress, flags, and calls of one operation."""
