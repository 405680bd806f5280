"""winnow: an MCP server over a user's own knowledge base.

The rooms of this package and who may import whom are drawn in docs/architecture.md.
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
