"""Parsers of markup and front matter, and the child process with limits that parses markup."""
