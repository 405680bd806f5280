"""Parsing of markup in a child process with limits."""
