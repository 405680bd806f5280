"""Hints for misspelt names, keywords and fields. Used before a script runs and after it failed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from winnow import client_sdk
from winnow.client_sdk import claim_calls, graph_calls, kb_calls
from winnow.client_sdk.client import SYNONYMS
from winnow.client_sdk.suggestions import ask_for, suggest
from winnow.sandbox.child.language.allow_list import ALLOWED

_SIMILARITY = 0.7  # from 0 to 1; see `suggest`
_NEARLY_SAME = 0.85  # a name of the script this similar is suggested before a function with the same purpose

# The SDK's functions by the name that a script writes and that error messages carry.
SDK: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **{name: value for name, value in vars(client_sdk).items() if inspect.isfunction(value)},
        **{f"kb.{name}": function for name, function in kb_calls.FUNCTIONS.items()},
        **{f"graph.{name}": function for name, function in graph_calls.FUNCTIONS.items()},
        **{f"claims.{name}": function for name, function in claim_calls.FUNCTIONS.items()},
    }
)
# The SDK objects whose methods are among them.
OBJECTS: Mapping[str, object] = MappingProxyType(
    {"kb": client_sdk.kb, "graph": client_sdk.graph, "claims": client_sdk.claims}
)
SIGNATURES: Mapping[str, inspect.Signature] = MappingProxyType(
    {name: inspect.signature(function) for name, function in SDK.items()}
)


def format_signature(signature: inspect.Signature) -> str:
    """The parameters with their defaults and without types."""
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def suggest_public(name: str, known: Iterable[str], similarity: float = _SIMILARITY) -> str | None:
    """``did you mean ...?`` with the most similar known name that scripts may write; None if none is similar."""
    return suggest(name, [word for word in known if not word.startswith(("@", "__"))], similarity)


def suggest_name(name: str, known: Iterable[str]) -> str | None:
    """The hint for an undefined name: a module to import, a similar name, or a module that has it.

    Operations of the knowledge base are written with ``kb.`` or ``graph.``; models also try ``kb_search``, as the
    tools are called.
    """
    if name in ALLOWED:
        return f"import {name} first"
    owner = next((each for each in OBJECTS if f"{each}.{name.removeprefix(f'{each}_')}" in SDK), None)
    if owner is not None:
        return f"write {owner}.{name.removeprefix(f'{owner}_')}(...)"
    homes = sorted(module for module, offered in ALLOWED.items() if name in offered and module != "client_sdk")
    listed = [*known]
    guess = suggest_public(name, listed, _NEARLY_SAME) or _write_function(SYNONYMS.get(name, ""))
    return guess or suggest_public(name, listed) or (f"from {homes[0]} import {name} first" if homes else None)


def _write_function(name: str) -> str | None:
    """The hint to write an SDK function, under the name with which scripts call it; None if there is none."""
    called = next((known for known in (name, f"kb.{name}") if known in SDK), None)
    return None if called is None else f"write {called}(...)"


# A wrong parameter name -> the names that SDK functions use for it; the first that the function has is meant.
_MEANT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("query", "question", "q", "text", "prompt"), ("query", "question", "queries")),
        **dict.fromkeys(("documents", "hits", "items"), ("rows",)),
        **dict.fromkeys(("bm25", "keyword_weight", "lexical_weight", "sparse_weight"), ("bm25_weight",)),
        **dict.fromkeys(("dense_weight", "semantic_weight", "embedding_weight"), ("vector_weight",)),
        **dict.fromkeys(("score", "cutoff", "min_score"), ("threshold", "min_score")),
        **dict.fromkeys(("by", "field", "key"), ("key", "by")),
        **dict.fromkeys(("max_length", "max_chars", "length"), ("max_content_length", "max_chars")),
        **dict.fromkeys(("path", "path_include", "include_path"), ("include", "document")),
        **dict.fromkeys(("path_exclude", "exclude_path"), ("exclude",)),
        **dict.fromkeys(("format", "output"), ("style",)),
        **dict.fromkeys(("columns", "keys"), ("fields",)),
        **dict.fromkeys(
            ("limit", "k", "n", "size", "page_size", "max_results", "num_results", "top_k", "topk", "top"),
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
            ("passage_id", "ids", "section_ids", "entity_ids", "document"),
        ),
        **dict.fromkeys(("mode", "detail"), ("response_mode", "level")),
        **dict.fromkeys(("offset", "start"), ("start_char", "from_ids")),
        **dict.fromkeys(("max_tokens", "tokens"), ("max_tokens", "max_quote_tokens")),
        **dict.fromkeys(("regex", "regexp", "expression"), ("pattern",)),
        **dict.fromkeys(
            ("document_id", "doc", "document", "file", "filename", "title", "uri", "url"), ("document",)
        ),
    }
)
# A wrong parameter name -> the filter of searches that is meant.
_FILTERS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("path", "paths", "path_prefix", "url", "file", "files", "filename", "folder", "glob", "include"),
            "path",
        ),
        **dict.fromkeys(("where", "field", "metadata", "front_matter"), "where"),
        **dict.fromkeys(("tag", "tags", "label", "labels"), "tags"),
        **dict.fromkeys(("type", "types", "kind"), "types"),
        **dict.fromkeys(("doc_tag", "domain"), "doc_tag"),
        **dict.fromkeys(("after", "since", "updated_after"), "updated_after"),
    }
)


def suggest_keyword(given: str, known: Iterable[str]) -> str:
    """The hint for a parameter that the function does not have."""
    listed = list(known)
    meant = next((name for name in _MEANT.get(given, ()) if name in listed), None)
    guess = ask_for(meant) if meant else _write_filter(given, listed) or suggest_public(given, listed)
    return f"{guess or 'no such parameter.'} It takes: {', '.join(listed)}"


def _write_filter(given: str, known: Iterable[str]) -> str | None:
    """The hint to write a parameter as a filter, for a function that takes filters."""
    meant = _FILTERS.get(given)
    return f'write filters={{"{meant}": ...}}.' if meant and "filters" in known else None
