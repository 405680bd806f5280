"""What an agent's script imports. Standard library only.

    quotes = kb.retrieve_evidence("how are retries configured")
    return [(row.quote, row.title) for row in quotes]

``kb.retrieve_evidence`` finds the sentences that answer. ``kb.search`` finds candidates; ``kb.extract_evidence``,
``kb.read_excerpt``, ``kb.expand_excerpt`` and ``fetch`` lead on from there. ``semantic_search`` and
``search_many`` list many results. ``graph.expand``, ``graph.paths`` and ``find_vendor_info`` follow what is
connected, where there is a graph. In a script these names are there without an import;
``from winnow import kb, semantic_search, fetch`` works, too.
"""

from .calls import fetch, search_many, semantic_search
from .client import KnowledgeBase, KnowledgeGraph, MCPClient, graph, kb
from .rows import MissingField, Results, Row
from .transport import SDKError
from .walks import find_vendor_info

__all__ = [
    "KnowledgeBase",
    "KnowledgeGraph",
    "MCPClient",
    "MissingField",
    "Results",
    "Row",
    "SDKError",
    "fetch",
    "find_vendor_info",
    "graph",
    "kb",
    "search_many",
    "semantic_search",
]
