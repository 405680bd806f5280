"""The requests of the SDK's functions: arguments as the operations take them, answers as rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from .rows import Results, Row, to_row
from .transport import SDKError, call

Filters = Mapping[str, Any]
Scope = Mapping[str, Any]

# The allowed values of these parameters; where a function has others, under its name.
CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "response_mode": ("ids_only", "ids", "metadata", "preview", "full"),
        "level": ("auto", "ids", "metadata", "preview", "full"),
        "format": ("text", "bullets"),
        "direction": ("out", "in", "both"),
        "style": (
            "text",
            "table",
            "json",
            "pandoc",
            "apa",
            "chicago",
            "harvard",
            "ieee",
            "mla",
            "vancouver",
            "bibtex",
            "csl-json",
            "markdown",
        ),
        "match": ("all", "any"),
        "syntax": ("fields", "plain"),
        "missing": ("raise", "skip"),
        "errors": ("raise", "keep"),
        "mode": ("semantic", "lexical", "hybrid"),
        "integration_status": ("probation", "integrated", "contested"),
        "claims.related.direction": ("similar", "contradicts", "all"),
    }
)
# Operations that refuse a call if no id is known, and the argument with the ids.
_KNOWN_IDS: Mapping[str, str] = MappingProxyType(
    {
        "kb.extract_evidence": "passage_ids",
        "graph.describe": "ids",
        "graph.expand": "ids",
        "graph.paths": "from_ids",
        "graph.parents": "ids",
        "graph.children": "ids",
        "graph.entities_for_sections": "section_ids",
        "graph.sections_for_entities": "entity_ids",
    }
)
# Operations that answer themselves what becomes of unknown ids.
TAKES_MISSING = ("fetch",)
# Values that are not sent. kb.read warns of a part where no length was asked for.
UNSENT: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "semantic_search": {"syntax": "fields"},
        "hybrid_search": {"syntax": "fields"},
        "fetch": {"missing": "raise"},
        "kb.read": {"start": 0, "max_tokens": 800},
    }
)
# Parameters that an operation takes within ``options``, and their defaults.
OPTIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"kb.search": {"max_per_doc": 1}, "kb.read_excerpt": {"format": "text"}}
)
_TOP_K = 5  # of kb.search
_FLAGS = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"))
_NOT_FOUND, _NAMED, _ID_CHARS = "NOT_FOUND", 5, 64
_SKIP = 'missing="skip" leaves out what is not there; page.missing_ids names it'


def request_row(method: str, given: Mapping[str, Any]) -> Row:
    """The answer of an operation as one row."""
    return to_row(call(method, build_arguments(method, given)))


def request_page(method: str, given: Mapping[str, Any]) -> Results:
    """The answer of an operation as a page, which can request the next one.

    ``missing`` among the parameters: what becomes of ids that are unknown (see ``refuse_missing``).
    """
    arguments = build_arguments(method, given)
    missing = None if method in TAKES_MISSING else arguments.pop("missing", "raise")
    if method == "semantic_search" and missing == "raise" and arguments.keys() & {"filters", "vendor_filter"}:
        missing = "skip"  # these leave out ids that are known, too
    if method in EMPTY and not arguments[EMPTY[method]]:  # a script filtered out all rows: not an error
        return Results({"results": [], "mode": arguments.get("level"), "missing_ids": []})
    try:
        return _request(method, arguments, missing)
    except SDKError as error:
        if missing != "skip" or error.type != _NOT_FOUND or method not in _KNOWN_IDS:
            raise
        return Results({"results": [], "missing_ids": [*arguments.get(_KNOWN_IDS[method], ())]})


# Operations that are not asked about no id at all, and the argument with the ids.
EMPTY: Mapping[str, str] = MappingProxyType({"fetch": "ids", "claims.claims": "entry_ids"})


def _request(method: str, arguments: Mapping[str, Any], missing: str | None) -> Results:
    page = Results(
        call(method, arguments), lambda cursor: _request(method, {**arguments, "cursor": cursor}, missing)
    )
    refuse_missing(page.get("missing_ids"), missing)
    return page


def refuse_missing(ids: Any, missing: str | None) -> None:
    """Raise SDKError where ids are unknown, unless ``missing`` is "skip"; None: unknown ids are no error."""
    if missing not in (None, *CHOICES["missing"]):
        raise SDKError("INVALID_REQUEST", f'missing: "raise" or "skip", not {missing!r}')
    if missing == "raise" and ids:
        more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
        named = ", ".join(repr(str(identity)[:_ID_CHARS]) for identity in ids[:_NAMED])
        raise SDKError(_NOT_FOUND, f"unknown ids: {named}{more}", _SKIP)


def build_arguments(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of an operation: ids of rows, written patterns, and without what is not given."""
    arguments = {name: value for name, value in given.items() if value is not None}
    for name in arguments.keys() & _CONVERSIONS.keys():
        arguments[name] = _CONVERSIONS[name](arguments[name])
    for name, unsent in UNSENT.get(method, {}).items():
        if arguments.get(name) == unsent:
            del arguments[name]
    if method == "kb.search":  # one page with all rows: they cost a script no tokens
        arguments.setdefault("page_size", arguments.get("top_k", _TOP_K))
    return _fold_options(arguments, OPTIONS.get(method, {}))


def _fold_options(arguments: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {name: arguments.pop(name) for name in defaults if name in arguments}
    changed = {name: value for name, value in chosen.items() if value != defaults[name]}
    return {**arguments, "options": {**changed, **arguments.get("options", {})}} if changed else arguments


def ids_of(rows: Any) -> list[Any]:
    """The ids of rows, of one row, or ids as they are."""
    return [row["id"] if isinstance(row, Mapping) else row for row in _listed(rows)]


def _listed(values: Any) -> list[Any]:
    return [values] if isinstance(values, (str, Mapping)) else [*values]


def _passage_id(passage: Any) -> Any:
    """The passage's id in this session, or the id of a row of another call, which works as well."""
    if isinstance(passage, list):
        raise TypeError("a passage is one id or one row; for several: [kb.read_excerpt(row) for row in rows]")
    if not isinstance(passage, Mapping):
        return passage
    return passage["passage_id"] if "passage_id" in passage else passage["id"]


def _entry_id(entry: Any) -> Any:
    return entry["entry_id"] if isinstance(entry, Mapping) else entry


def document_name(document: Any) -> Any:
    """The id of a document's row; an id, path or title as it is."""
    if isinstance(document, list):
        raise TypeError("a document is one id, path, title or row; for several: [read(row) for row in rows]")
    return document["document_id"] if isinstance(document, Mapping) else document


def _pattern_text(pattern: str | re.Pattern[str]) -> str:
    """The pattern as text; those of its flags that change a match are written into it."""
    if isinstance(pattern, str):
        return pattern
    letters = "".join(letter for flag, letter in _FLAGS if pattern.flags & flag)
    return f"(?{letters}){pattern.pattern}" if letters else pattern.pattern


# Parameters that take ids or rows, and those that take one value or several.
IDS = ("ids", "from_ids", "to_ids", "section_ids", "entity_ids", "filter_ids")
LISTS = ("types", "entity_types")
# Parameter -> what makes an argument of it: rows stand for their ids.
_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        **dict.fromkeys(IDS, ids_of),
        **dict.fromkeys(LISTS, _listed),
        "passage_id": _passage_id,
        "passage_ids": lambda passages: [_passage_id(passage) for passage in _listed(passages)],
        "entry_id": _entry_id,
        "entry_ids": lambda entries: [*dict.fromkeys(map(_entry_id, _listed(entries)))],
        "document": document_name,
        "pattern": _pattern_text,
    }
)
