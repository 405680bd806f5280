"""The objects that a script calls: ``kb``, ``graph``, and a client with the interface of an MCP client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from . import claim_calls, corpus_calls, graph_calls, kb_calls, run, search_calls, shaping, state
from .calls import cite, grep, read_result, rerank, search_many
from .reading import document_calls, many_texts
from .requests import request_page, request_row
from .search_calls import fetch, semantic_search
from .suggestions import ask_for, suggest

# Names that scripts use for functions of ``kb``, where similarity of spelling does not find the right one.
SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("query", "find", "lookup", "hybrid_search"), "search"),
        **dict.fromkeys(
            ("evidence", "retrieve", "quotes", "quote", "answer", "ask", "get_evidence"), "retrieve_evidence"
        ),
        **dict.fromkeys(("extract", "extract_quotes"), "extract_evidence"),
        **dict.fromkeys(("excerpt", "get_excerpt", "passage"), "read_excerpt"),
        **dict.fromkeys(("expand", "context", "expand_context"), "expand_excerpt"),
        **dict.fromkeys(("get", "load"), "fetch"),
        **dict.fromkeys(("document", "get_document", "read_document", "open"), "read"),
        **dict.fromkeys(("list", "list_documents", "files", "list_files", "ls", "pages"), "documents"),
        **dict.fromkeys(("headings", "outline", "toc", "chapters"), "sections"),
        **dict.fromkeys(("code", "codes", "snippets", "fences"), "code_blocks"),
        **dict.fromkeys(("front_matter", "frontmatter", "metadata"), "fields"),
        **dict.fromkeys(("urls", "hrefs", "references"), "links"),
        **dict.fromkeys(("cell", "table_row", "find_row"), "row"),
        **dict.fromkeys(("duplicates", "repeated", "find_repeats"), "repeats"),
    }
)


def list_methods(kind: type) -> list[str]:
    """The names of the SDK functions that an object of this class has, the inherited ones first."""
    names = (name for base in reversed(kind.__mro__) for name in vars(base))
    return [*dict.fromkeys(name for name in names if not name.startswith("_"))]


class DocumentFunctions:
    """The functions that read whole documents and their parts, as methods."""

    __slots__ = ()

    text = staticmethod(document_calls.text)
    texts = staticmethod(many_texts.texts)
    page = staticmethod(document_calls.page)
    fields = staticmethod(document_calls.fields)
    sections = staticmethod(document_calls.sections)
    code_blocks = staticmethod(document_calls.code_blocks)
    tables = staticmethod(document_calls.tables)
    links = staticmethod(document_calls.links)
    row = staticmethod(document_calls.row)


class KnowledgeBase(corpus_calls.CorpusFunctions, DocumentFunctions, kb_calls.KbFunctions):
    """The knowledge base. ``kb.retrieve_evidence(question)`` quotes the answer, ``kb.search(query)`` finds
    candidates, ``kb.read_excerpt(row)`` reads one, ``kb.fetch(ids)`` returns whole passages.
    """

    __slots__ = ()

    search_many = staticmethod(search_many)
    fetch = staticmethod(fetch)
    semantic_search = staticmethod(semantic_search)
    grep = staticmethod(grep)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(_describe_unknown("kb", name, list_methods(KnowledgeBase), SYNONYMS.get(name)))

    def __repr__(self) -> str:
        return "kb"


kb = KnowledgeBase()

_GRAPH_SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("neighbors", "neighbours", "related", "neighborhood", "walk", "search"), "expand"),
        **dict.fromkeys(("path", "shortest_path", "shortest_paths", "connect", "find_paths"), "paths"),
        **dict.fromkeys(("node", "nodes", "get", "lookup", "degree", "stats", "counts", "find"), "describe"),
        **dict.fromkeys(("entities", "mentions"), "entities_for_sections"),
        **dict.fromkeys(("sections", "passages", "chunks", "mentioned_in"), "sections_for_entities"),
    }
)


class KnowledgeGraph(graph_calls.GraphFunctions):
    """The knowledge graph. ``graph.expand(row)`` returns the neighbours of a row or a name, ``graph.paths(a, b)``
    the paths between two.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(_describe_unknown("graph", name, graph_calls.FUNCTIONS, _GRAPH_SYNONYMS.get(name)))

    def __repr__(self) -> str:
        return "graph"


graph = KnowledgeGraph()

_CLAIM_SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("query", "find", "lookup"), "search"),
        **dict.fromkeys(("similar", "contradictions", "neighbours", "expand"), "related"),
        **dict.fromkeys(("get", "fetch", "batch", "of"), "claims"),
        **dict.fromkeys(("entry", "open", "evidence"), "read"),
        **dict.fromkeys(("contested", "conflicts"), "friction"),
        **dict.fromkeys(("changes", "history", "list"), "recent"),
        **dict.fromkeys(("counts", "stats", "count"), "status"),
    }
)
_CLAIM_WRITING = ("write", "revise")
_NOTEBOOK_PREFIXES = ("claims.", "claims_", "wild_")
_WRITING_TOOLS = {f"{prefix}{name}": name for name in _CLAIM_WRITING for prefix in _NOTEBOOK_PREFIXES}
_ONLY_READ = "scripts read claims and do not write them: use the tool wild_{name}, where it is listed"


class ClaimNotebook(claim_calls.ClaimFunctions):
    """The notebook of claims that agents wrote, where the server lists its tools. ``claims.search(query)`` finds
    entries, ``claims.read(row)`` shows one with its evidence. Scripts read it and do not write it.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in _CLAIM_WRITING:
            raise AttributeError(_ONLY_READ.format(name=name))
        known = claim_calls.FUNCTIONS
        raise AttributeError(_describe_unknown("claims", name, known, _CLAIM_SYNONYMS.get(name)))

    def __repr__(self) -> str:
        return "claims"


claims = ClaimNotebook()


def _call_kb(name: str, /, **arguments: Any) -> Any:
    """Call an operation with arguments as the tool or as the function takes them."""
    returned = kb_calls.FUNCTIONS[name].__annotations__["return"]
    return (request_row if returned == "Row" else request_page)(f"kb.{name}", arguments)


def _call_graph(name: str, /, **arguments: Any) -> Any:
    return request_page(f"graph.{name}", arguments)


_PREFIXES = ("", "kb.", "kb_")
_TOOLS: Mapping[str, Callable[..., Any]] = {
    "search_many": search_many,
    "grep": grep,
    **search_calls.FUNCTIONS,
    **{f"{prefix}{name}": function for name, function in corpus_calls.FUNCTIONS.items() for prefix in _PREFIXES},
    **{
        f"{prefix}{name}": getattr(DocumentFunctions, name)
        for name in list_methods(DocumentFunctions)
        for prefix in _PREFIXES
    },
    "rerank": rerank,
    "read_result": read_result,
    **{f"kb.{name}": partial(_call_kb, name) for name in kb_calls.FUNCTIONS},
    **{f"kb_{name}": partial(_call_kb, name) for name in kb_calls.FUNCTIONS},
    **{f"graph.{name}": partial(_call_graph, name) for name in graph_calls.FUNCTIONS},
    **{f"graph_{name}": partial(_call_graph, name) for name in graph_calls.FUNCTIONS},
    **{
        f"{prefix}{name}": function
        for name, function in claim_calls.FUNCTIONS.items()
        for prefix in _NOTEBOOK_PREFIXES
    },
}


class MCPClient(
    search_calls.SearchFunctions, corpus_calls.CorpusFunctions, DocumentFunctions, kb_calls.KbFunctions
):
    """The same calls as methods of an MCP client.

        async with MCPClient() as client:
            rows = await client.semantic_search("retry policy")
            rows = await client.call_tool("kb_retrieve_evidence", {"question": "how are retries configured"})

    No network is involved: every call goes to the server that runs this script.
    """

    search_many = staticmethod(search_many)
    grep = staticmethod(grep)
    rerank = staticmethod(rerank)
    read_result = staticmethod(read_result)
    filter_rows = staticmethod(shaping.filter_rows)
    filter_by_domain = staticmethod(shaping.filter_by_domain)
    filter_by_score = staticmethod(shaping.filter_by_score)
    dedupe = staticmethod(shaping.dedupe)
    group_by = staticmethod(shaping.group_by)
    summarize = staticmethod(shaping.summarize)
    quotes = staticmethod(shaping.quotes)
    cite = staticmethod(cite)
    format_for_agent = staticmethod(shaping.format_for_agent)
    tokens = staticmethod(run.tokens)
    save = staticmethod(state.save)
    load = staticmethod(state.load)
    saved = staticmethod(state.saved)
    budget = staticmethod(run.budget)
    progress = staticmethod(run.progress)
    kb = kb
    graph = graph
    claims = claims

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Arguments that MCP clients usually take (addresses, names) are ignored."""

    async def __aenter__(self) -> MCPClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        return None

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call by name, with an underscore or a dot: "semantic_search", "fetch", "kb_search", "graph.paths".

        Arguments as the tool takes them (with ``options``, say), or as the SDK function does.
        """
        if name in _WRITING_TOOLS:
            raise AttributeError(_ONLY_READ.format(name=_WRITING_TOOLS[name]))
        if name not in _TOOLS:
            raise AttributeError(_describe_unknown("the SDK", name, _TOOLS, _guess_tool(name)))
        return _TOOLS[name](**dict(arguments or {}))


def _guess_tool(name: str) -> str | None:
    for owner, synonyms in (("kb", SYNONYMS), ("graph", _GRAPH_SYNONYMS), ("claims", _CLAIM_SYNONYMS)):
        bare = name.removeprefix(f"{owner}.").removeprefix(f"{owner}_")
        if f"{owner}.{synonyms.get(bare, bare)}" in _TOOLS:
            return f"{owner}.{synonyms.get(bare, bare)}"
    return None


def _describe_unknown(owner: str, name: str, known: Iterable[str], likely: str | None) -> str:
    listed = [*known]
    guess = ask_for(likely) if likely else suggest(name, listed) or f"it has {', '.join(listed)}"
    return f"{owner} has no {name!r}; {guess}"
