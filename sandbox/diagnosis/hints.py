"""What was meant: near misses among names, keywords and fields. Used before a script runs and after it failed."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import client_sdk
from client_sdk import graph_calls, kb_calls
from sandbox.language.allow_list import MENU

# The SDK's functions by the name that a script writes and that error messages carry.
SDK: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **{name: value for name, value in vars(client_sdk).items() if inspect.isfunction(value)},
        **{f"kb.{name}": function for name, function in kb_calls.FUNCTIONS.items()},
        **{f"graph.{name}": function for name, function in graph_calls.FUNCTIONS.items()},
    }
)
# The objects that some of them are called on.
OBJECTS: Mapping[str, object] = MappingProxyType({"kb": client_sdk.kb, "graph": client_sdk.graph})
SIGNATURES: Mapping[str, inspect.Signature] = MappingProxyType(
    {name: inspect.signature(function) for name, function in SDK.items()}
)


def shown(signature: inspect.Signature) -> str:
    """The parameters with their defaults, without types: as a script would write them."""
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def close(name: str, known: Iterable[str], cutoff: float = 0.7) -> str | None:
    """Did you mean one of these?"""
    words = [word for word in known if not word.startswith(("@", "__"))]
    found = difflib.get_close_matches(name, words, 1, cutoff)
    return f"did you mean {found[0]!r}?" if found else None


def for_name(name: str, known: Iterable[str]) -> str | None:
    """For a name that nothing binds: a module to import, a name that looks like it, a module that offers it.

    What the knowledge base has is written with ``kb.`` or ``graph.``; its tools are listed as ``kb_search`` and so
    on.
    """
    if name in MENU:
        return f"import {name} first"
    owner = next((one for one in OBJECTS if f"{one}.{name.removeprefix(f'{one}_')}" in SDK), None)
    if owner is not None:
        return f"write {owner}.{name.removeprefix(f'{owner}_')}(...)"
    homes = sorted(module for module, offered in MENU.items() if name in offered and module != "client_sdk")
    return close(name, known) or (f"from {homes[0]} import {name} first" if homes else None)


# Parameters as scripts call them, and what the SDK's functions call the same thing, whichever of them has it.
_MEANT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("query", "question", "q", "text", "prompt"), ("query", "question", "queries")),
        **dict.fromkeys(("documents", "hits", "items"), ("rows",)),
        **dict.fromkeys(("bm25", "keyword_weight", "lexical_weight", "sparse_weight"), ("bm25_weight",)),
        **dict.fromkeys(("dense_weight", "semantic_weight", "embedding_weight"), ("vector_weight",)),
        **dict.fromkeys(("score", "cutoff", "min_score"), ("threshold", "min_score")),
        **dict.fromkeys(("by", "field", "key"), ("key", "by")),
        **dict.fromkeys(("max_length", "max_chars", "length"), ("max_content_length", "max_chars")),
        **dict.fromkeys(("path", "path_include", "include_path"), ("include",)),
        **dict.fromkeys(("path_exclude", "exclude_path"), ("exclude",)),
        **dict.fromkeys(("format", "output"), ("style",)),
        **dict.fromkeys(("columns", "keys"), ("fields",)),
        **dict.fromkeys(
            ("limit", "k", "n", "size", "page_size", "max_results", "num_results", "top_k"),
            ("top_k", "page_size", "limit", "max_results"),
        ),
        **dict.fromkeys(("depth", "max_depth", "max_hops", "hops"), ("hops", "max_hops")),
        **dict.fromkeys(("relations", "relation", "edge_types", "relation_types"), ("types",)),
        **dict.fromkeys(("source", "sources", "from_id"), ("from_ids",)),
        **dict.fromkeys(("target", "targets", "end", "to_id"), ("to_ids",)),
        **dict.fromkeys(("vendor", "name"), ("vendor_name",)),
        **dict.fromkeys(
            ("ids", "passages", "rows", "results", "section_ids", "nodes", "entities", "entity_ids"),
            ("passage_ids", "ids", "filter_ids", "section_ids", "entity_ids", "rows"),
        ),
        **dict.fromkeys(
            ("id", "passage", "row", "section_id", "chunk_id", "entity_id", "node"),
            ("passage_id", "ids", "section_ids", "entity_ids"),
        ),
        **dict.fromkeys(("mode", "detail"), ("response_mode", "level")),
        **dict.fromkeys(("offset", "start"), ("start_char", "from_ids")),
        **dict.fromkeys(("max_tokens", "tokens"), ("max_tokens", "max_quote_tokens")),
    }
)


def for_keyword(given: str, known: Iterable[str]) -> str:
    """For a parameter that a function does not have."""
    listed = list(known)
    meant = next((name for name in _MEANT.get(given, ()) if name in listed), None)
    guess = f"did you mean {meant!r}?" if meant else close(given, listed) or "no such parameter."
    return f"{guess} It takes: {', '.join(listed)}"
