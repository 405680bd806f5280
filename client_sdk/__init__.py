"""The SDK that an agent's script imports. Standard library only.

    quotes = kb.retrieve_evidence("how are retries configured")
    return [(row.quote, row.title) for row in quotes]

``kb.retrieve_evidence`` finds the sentences that answer a question. ``kb.search`` finds candidates;
``kb.extract_evidence``, ``kb.read_excerpt``, ``kb.expand_excerpt`` and ``fetch`` take their rows.
``semantic_search`` and ``search_many`` list many results; ``grep`` keeps those that match a regular expression.
``scan`` finds every match in all text, ``documents`` lists every document, ``count`` counts either, ``repeats``
finds text that stands in several places: they look through everything and rank nothing. ``text`` is a document
whole, ``read`` a piece of it, ``page`` a page, and ``texts`` goes through many. ``sections``, ``code_blocks``,
``tables`` and ``links`` list its parts by their characters, ``row`` finds a row of a table by its label,
``fields`` has the front matter as it is nested.
``graph.expand``, ``graph.paths`` and ``find_vendor_info`` follow relations, where there is a graph.
``claims.search`` and ``claims.read`` read the notebook of claims, where the server lists their tools.
``filter_rows``, ``rerank``, ``dedupe`` and ``group_by`` select rows; ``quotes``, ``summarize`` and
``format_for_agent`` prepare them for return; ``cite`` cites them. ``save`` and ``load`` keep values between the
scripts of a session. ``budget`` shows what the run may still use. A script has these names without an import;
``from winnow import kb, semantic_search, fetch`` works, too. ``help(rerank)`` prints its reference.
"""

from . import corpus_calls, search_calls
from .calls import cite, grep, read_result, rerank, search_many
from .client import ClaimNotebook, KnowledgeBase, KnowledgeGraph, MCPClient, claims, graph, kb
from .corpus_calls import *  # noqa: F403 - the names in its __all__, which is generated
from .reading.document_calls import code_blocks, fields, links, page, row, sections, tables, text
from .reading.many_texts import texts
from .rows import MissingField, Results, Row
from .run import budget, progress, tokens
from .search_calls import *  # noqa: F403 - as above
from .shaping import (
    dedupe,
    filter_by_domain,
    filter_by_score,
    filter_rows,
    format_for_agent,
    group_by,
    quotes,
    summarize,
)
from .state import load, save, saved
from .transport import SDKError

# The public names. Those of functions that call one operation follow from the declarations of operations.
__all__ = [
    "ClaimNotebook",
    "KnowledgeBase",
    "KnowledgeGraph",
    "MCPClient",
    "MissingField",
    "Results",
    "Row",
    "SDKError",
    "budget",
    "cite",
    "claims",
    "code_blocks",
    "dedupe",
    "fields",
    "filter_by_domain",
    "filter_by_score",
    "filter_rows",
    "format_for_agent",
    "graph",
    "grep",
    "group_by",
    "kb",
    "links",
    "load",
    "page",
    "progress",
    "quotes",
    "read_result",
    "rerank",
    "row",
    "save",
    "saved",
    "search_many",
    "sections",
    "summarize",
    "tables",
    "text",
    "texts",
    "tokens",
    *corpus_calls.__all__,
    *search_calls.__all__,
]
