"""Shared parts of readers: bounded ZIP archives and XML, Markdown with places."""
