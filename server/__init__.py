"""The server over a user's own knowledge base: retrieval, tools, transports and commands.

The rooms of this package and who may import whom are drawn in docs/architecture.md.
"""
