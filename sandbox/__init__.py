"""Runs untrusted Python. Knows nothing of knowledge bases, tokens or MCP."""
