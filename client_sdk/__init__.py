"""What an agent's script imports. Standard library only.

    rows = kb.search("how are retries configured")
    return [(row.title, row.preview) for row in rows]

In a script these names are there without an import; ``from winnow import kb, semantic_search, fetch`` works, too.
"""

from .calls import KnowledgeBase, MCPClient, fetch, kb, search_many, semantic_search
from .rows import MissingField, Results, Row
from .transport import SDKError

__all__ = [
    "KnowledgeBase",
    "MCPClient",
    "MissingField",
    "Results",
    "Row",
    "SDKError",
    "fetch",
    "kb",
    "search_many",
    "semantic_search",
]
