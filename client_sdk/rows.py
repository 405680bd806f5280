"""The return values of SDK calls: rows with fields as attributes, and pages of rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Any, SupportsIndex, overload

from .awaitable import Rows
from .suggestions import ask_for, suggest
from .transport import SDKError

# Fields that need a higher response mode, and that mode.
_FIELD_MODES = {
    "preview": "preview",
    "snippet": "preview",
    "text": "full",
    "content": "full",
    "body": "full",
    "full_text": "full",
}


# All fields of rows, for finding misspelled ones. The server may send others, too.
FIELDS = (
    "id", "title", "score", "section", "type", "vendor", "file", "created", "metadata", "preview",
    "preview_tokens", "has_more", "content", "tokens", "relationships", "document_id", "tags",
    "passage_id", "section_id", "doc_tag", "rank", "source", "scratch_uri", "size_bytes", "anchor",
    "quote", "uri", "confidence", "likeness",
    "excerpt", "start_char", "truncated", "next_start_char", "citation",
    "label", "level", "section_ids", "snippet", "edges_out", "edges_in", "distance", "relation", "direction",
    "from_id", "weight", "entity_ids", "hops", "nodes", "edges", "entity_id", "entity_name", "relationship_type",
    "source_id", "target_id", "rerank_score", "match", "matches",
    "page_span", "page_labels", "locator", "link", "citekey", "authors", "year", "doi",
    "text", "path", "groups", "context", "page", "start", "end", "key", "passages", "documents",
    "entry_id", "topic", "claims", "claims_total", "claims_status", "integration_status", "author", "max_friction",
    "needs_review", "similarity", "entropy", "friction", "contradictions", "confidence_avg", "entry_count",
    "avg_friction", "claims_status_breakdown", "contradiction_count", "top_contradiction", "sequence", "kind",
    "at", "status_why", "comparisons", "references", "revisions", "revision",
    "total_entries", "total_claims", "percent_distilled", "queue_depth", "awaiting_review", "integration",
    "top_friction", "last_sequence", "semantic", "writes", "project",
    "n", "verified", "refuted", "evidence", "warnings", "friction_why", "evidence_entropy",
    "stance", "status", "document", "by", "in_full", "revised_by",
    "heading", "language", "code", "header", "rows", "caption", "spans", "target", "value", "column", "cells",
    "others", "places", "total_chars",
)  # fmt: skip

# Fields of rows of files with pages or the like.
PLACE_FIELDS = ("page_span", "page_labels", "locator", "link")
# Fields of rows of documents that have a citekey. Others may state some in their front matter.
WORK_FIELDS = ("citekey", "authors", "year", "doi")
# Fields that every row has; None where nothing is known of them.
COMMON_FIELDS = (
    "id", "document_id", "title", "section", "file", "type", "score", *PLACE_FIELDS, *WORK_FIELDS
)  # fmt: skip
# Fields that only some rows of a kind have, by a field that all of the kind have; None on the others.
OPTIONAL_FIELDS: Mapping[str, tuple[str, ...]] = {
    "quote": ("likeness",),
    "scratch_uri": ("anchor", "scores", "debug"),
    "excerpt": ("next_start_char", "citation"),
    "label": (
        "level", "tokens", "doc_tag", "anchor", "snippet", "edges_out", "edges_in", "distance", "relation",
        "direction", "from_id", "weight", "confidence", "entity_ids",
    ),
    "relation": ("direction", "from_id"),
    "match": ("page", "truncated"),
    "key": ("truncated",),
    "claims_status": ("claims_total", "author", "revised_by", "needs_review", "similarity"),
    "contradiction_count": ("top_contradiction",),
    "n": ("verified", "refuted", "author", "warnings", "friction", "friction_why", "evidence_entropy"),
    "stance": ("document", "section_id", "by", "author", "in_full"),
    "sequence": ("by",),
    "other_text": ("note", "unquoted"),
    **dict.fromkeys(("heading", "code", "spans", "target", "cells"), ("page",)),
    "total_entries": ("contradictions",),
}  # fmt: skip
_TEXT_FIELDS = ("content", "text", "excerpt", "quote", "snippet", "context")
# Aliases of fields: the first of these fields that a row has.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("section_id", "entity_id", "passage_id", "document_id", "entry_id"),
    "file": ("path",),
    "match": ("key",),  # rows of a scan that is grouped
    "text": _TEXT_FIELDS,
    "content": _TEXT_FIELDS,
}
# Names that scripts use for fields, where similarity of spelling does not find the right one.
_MEANT: Mapping[str, str] = {
    **dict.fromkeys(
        ("path", "url", "uri", "filename", "file_name", "filepath", "file_path", "source_file"), "file"
    ),
    **dict.fromkeys(("heading", "header", "section_title", "heading_path"), "section"),
    **dict.fromkeys(("name", "document_title", "doc_title"), "title"),
    **dict.fromkeys(("kind", "doc_type", "document_type"), "type"),
    **dict.fromkeys(("doc_id", "doc", "document"), "document_id"),
    **dict.fromkeys(("similarity", "relevance"), "score"),
    **dict.fromkeys(("count", "occurrences", "hits"), "matches"),
    "value": "key",
    **dict.fromkeys(("chunk_id", "chunk", "node_id"), "id"),
}
# Objects within a row whose fields can be read from the row directly.
_PARTS = ("metadata", "citation")
# Parts of a document's row that hold what the document states itself. A name that other rows have for their text,
# id or place is not read from there: what a document states must not look like its text.
_STATED = ("labels", "fields")
_NEVER_STATED = frozenset({*COMMON_FIELDS, *ALIASES, *_TEXT_FIELDS, *_FIELD_MODES}) - {*WORK_FIELDS}
# The names of a page's rows on the wire.
_ROWS = ("results", "quotes", "entities", "entries", "topics", "changes")
# The parts of a printed row: its title, its number, its place, and the first of its texts.
_TITLES, _NUMBERS, _PLACES = ("title", "name", "topic"), ("score", "confidence", "weight"), ("file", "uri")
_LOCATORS = ("locator",)
_TEXTS = ("quote", "preview", "excerpt", "snippet", "content")
_LINE_CHARS = 158
_ABSENT = object()
_SIMILARITY = 0.75  # from which one name is taken for a misspelling of another
_IDS_SHOWN = 5


class MissingField(AttributeError, KeyError):
    """A row or a page does not have this field; the message names the fields it has."""

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message, name=name)
        self.message = message

    def __str__(self) -> str:
        return self.message


def _missing_field(what: str, name: str, known: Iterable[str], advice: str = "") -> MissingField:
    fields = sorted(set(known))
    meant = _MEANT.get(name, "")
    guess = ask_for(meant) if meant in fields else suggest(name, fields) or f"it has {', '.join(fields)}"
    return MissingField(f"{what} has no field {name!r}; {guess}{advice}", name)


def find_misspelling(name: str, known: Iterable[str]) -> MissingField | None:
    """The error for a name that is likely a misspelled field of these rows; None for any other."""
    guess = suggest(name, known, _SIMILARITY)
    return MissingField(f"these rows have no field {name!r}; {guess}", name) if guess else None


class Row(dict[str, Any]):
    """One hit, document, quote or excerpt: a dict whose fields are attributes, too.

        row = kb.search("retry policy")[0]
        row.title, row["title"], row.get("score", 0)
        quote = kb.retrieve_evidence("retry policy")[0]
        quote.quote, quote.title, quote.passage_id

    Every row has id, document_id, title, section, file, type and score. Unknown fields, and fields that only some
    rows of a kind have, are None where they are missing. Rows of files with pages or the like have locator
    ("p. 33 (file page 45)"), page_span ([45, 45]), page_labels (the printed numbers) and link. Rows of works in a
    bibliography have citekey, authors, year and doi. row.text and row.content are the same on every row that has a
    text, whatever its name. A hit's metadata can be read in two ways at every level: row.file and
    row.metadata.file; so can the front matter of a document's row: row.stage and row.fields.stage. Printed, a row
    is one short line; row.to_dict() has all of it.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        line = _summarize_row(self)
        return dict.__repr__(self) if line is None else line

    def to_dict(self) -> dict[str, Any]:
        """The row as a plain dict, its nested objects included."""
        return _to_plain(self)  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __missing__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise KeyError(name)
        value = self._find(name)
        if value is not _ABSENT:
            return value
        shape = self._shape()
        if name in shape:
            return None
        raise _missing_field("this row", name, itertools.chain(*self._parts(), shape), self._advice(name))

    def _find(self, name: str) -> Any:
        """A field under its own name or another, in the row or in its parts; ``_ABSENT`` if it is nowhere."""
        parts = self._parts()
        for known in (name, *ALIASES.get(name, ())):
            for part in parts:
                if known in part:
                    return dict.__getitem__(part, known)
        if name == "metadata" and "file" in self:  # rows of the metadata level are flat
            return self
        stated = () if name in _NEVER_STATED else (dict.get(self, part) for part in _STATED)
        return next((part[name] for part in stated if isinstance(part, dict) and name in part), _ABSENT)

    def _parts(self) -> list[dict[str, Any]]:
        inner = [dict.get(self, part) for part in _PARTS]
        return [self, *(part for part in inner if isinstance(part, dict))]

    def _shape(self) -> list[str]:
        """The fields that are None where the row does not have them."""
        kinds = (names for mark, names in OPTIONAL_FIELDS.items() if mark in self)
        return [*COMMON_FIELDS, *itertools.chain.from_iterable(kinds)]

    def __await__(self) -> Generator[None, None, Row]:
        """Return the row itself: calls work with and without await."""
        yield from ()
        return self

    def get(self, name: Any, default: Any = None) -> Any:
        """A field, or the default where the row does not have it."""
        if name in self:
            return dict.__getitem__(self, name)
        value = self._find(name) if isinstance(name, str) else _ABSENT
        return default if value is _ABSENT else value

    def _advice(self, name: str) -> str:
        if name in _FIELD_MODES and "content" in self:
            return ". The whole text is row.content"
        if "fields" in self and name not in _MEANT:
            if name in _FIELD_MODES:
                return ". Text comes with read(row)"
            return f". A field of the front matter that only some documents have: row.get({name!r})"
        if name in ("quote", "quotes"):
            return ". Quotes come with kb.extract_evidence(question, rows)"
        if name in _FIELD_MODES and "passage_id" in self:
            return ". Text comes with kb.read_excerpt(row), or with fetch(row.id)"
        if name in _FIELD_MODES:
            return f". Text comes with response_mode={_FIELD_MODES[name]!r}, or with fetch(row.id)"
        return ""


class Part(Row):
    """An object within a row, like its metadata: it has its own fields alone, under their own names.

    A row's metadata repeats the row's id and its score, which is None where nothing was ranked.
    """

    __slots__ = ()

    def _find(self, name: str) -> Any:
        return dict.get(self, name, _ABSENT)

    def _shape(self) -> list[str]:
        return ["score"] if {"id", "document_id"} <= self.keys() else []


def _summarize_row(row: Row) -> str | None:
    """One line for a row of the knowledge base; None for a nested object, which is printed as a dict."""
    identity = next(
        (dict.get(row, name) for name in ("id", "section_id", "entity_id", "entry_id") if name in row), None
    )
    if type(identity) is not str:
        return None
    parts = [identity]
    for names in (_TITLES, _NUMBERS, _PLACES, _LOCATORS, _TEXTS):
        found = next(
            (value for value in (row.get(name) for name in names) if type(value) in (str, int, float)), ""
        )
        parts.append(" ".join(str(found).split()))
    text = " | ".join(part for part in parts if part)
    return f"<{text}>" if len(text) <= _LINE_CHARS else f"<{text[: _LINE_CHARS - 1]}…>"


def _to_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_plain(part) for key, part in dict.items(value)}
    if isinstance(value, list):
        return [_to_plain(part) for part in list.__iter__(value)]
    return value


def to_row(fields: Mapping[str, Any]) -> Row:
    """Convert an object of a reply to a row, and the objects within it as well."""
    return _fill(Row(fields))


def _fill(row: Row) -> Row:
    for key, value in row.items():
        if type(value) is dict or type(value) is list:
            row[key] = _convert(value)
    return row


def _convert(value: Any) -> Any:
    if type(value) is dict:
        return _fill(Part(value))
    if type(value) is list:
        return [to_row(item) if type(item) is dict else _convert(item) for item in value]
    return value


# From a cursor to the page that it stands for.
FollowCursor = Callable[[str], "Results"]


class Results(list[Row]):
    """A page of rows: a list whose own fields are attributes and keys.

        page = semantic_search("retry policy", top_k=20)
        len(page), page[0].title, page.ids, page.count
        if page.next_cursor:
            page = semantic_search("retry policy", top_k=20, cursor=page.next_cursor)

    ``page.all()`` is a list of the rows of this page and of all following pages. ``page["results"]`` is the page
    itself, as is ``page["quotes"]`` where its rows are quotes. Awaiting a page returns the page: calls work with
    and without await.
    """

    def __init__(self, reply: Mapping[str, Any], follow: FollowCursor | None = None) -> None:
        ids = reply.get("ids")
        self._rows_name = next((name for name in _ROWS if reply.get(name) is not None), "results")
        rows = reply.get(self._rows_name)
        if rows is None:
            rows = [{"id": identity} for identity in ids or ()]
        super().__init__(to_row(row) for row in rows)
        page = {key: _convert(value) for key, value in reply.items() if key not in (*_ROWS, "ids")}
        page.setdefault("count", len(self))
        page.setdefault("next_cursor", None)
        page.setdefault("warnings", [])
        self._page = page
        self._error: SDKError | None = None
        self._follow = follow

    @classmethod
    def refused(cls, error: SDKError) -> Results:
        """An empty page for one of several calls that was refused."""
        page = cls({"results": [], "warnings": [str(error)]})
        page._error = error
        return page

    @property
    def error(self) -> SDKError | None:
        """The error, if this was one of several calls and was refused; else None."""
        return self._error

    def __await__(self) -> Generator[None, None, Results]:
        yield from ()
        return self

    def __repr__(self) -> str:
        more = ", and more" if self._page["next_cursor"] else ""
        shown = ", ".join(map(repr, itertools.islice(self, _IDS_SHOWN)))
        cut = ", …" if len(self) > _IDS_SHOWN else ""
        verdict = f"{self._page['verdict']}; " if "verdict" in self._page else ""
        return f"[{verdict}{len(self)} rows{more}: {shown}{cut}]" if self else f"[{verdict}no rows]"

    def pages(self) -> Iterator[Results]:
        """The page itself and all following pages, each requested when it is reached.

            for page in kb.search("retry policy", top_k=20).pages():
                print(page.count, page.ids)

        Each following page is one more SDK call.
        """
        page, seen = self, set()
        while True:
            yield page
            cursor = page._page["next_cursor"]
            if not cursor or page._follow is None or cursor in seen:
                return
            seen.add(cursor)
            page = page._follow(cursor)

    def all(self) -> Rows:
        """The rows of this page and of all following pages, as a list.

            rows = graph.expand(kb.search("retry policy")).all()
            print(len(rows), rows[0].title if rows else "none")

        Each following page is one more SDK call, made at once; page.pages() requests them one by one.
        """
        return Rows(row for page in self.pages() for row in page)

    def to_dict(self) -> dict[str, Any]:
        """A plain dict: the rows as "results", and the page's own fields."""
        return {"results": _to_plain(self), **_to_plain(self._page)}

    @property
    def ids(self) -> list[str]:
        """The rows' ids, in order."""
        return [row["id"] for row in self]

    @property
    def count(self) -> int:  # type: ignore[override]
        """The number of rows in the page. (Not list.count: count rows with sum().)"""
        return int(self._page["count"])

    @overload
    def __getitem__(self, key: SupportsIndex) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> list[Row]: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key in ("results", self._rows_name):
            return self
        if key == "ids":
            return self.ids
        if key in self._page:
            return self._page[key]
        raise _missing_field("a page of results", key, self.fields, _FIELD_ON_PAGE)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __contains__(self, item: object) -> bool:
        if isinstance(item, str):
            return item in self.fields
        return super().__contains__(item)

    def get(self, key: str, default: Any = None) -> Any:
        """A field of the page, or the default."""
        return self[key] if key in self.fields else default

    @property
    def fields(self) -> list[str]:
        """The names of the page's own fields."""
        return [*dict.fromkeys(("results", self._rows_name)), "ids", *self._page]

    def keys(self) -> list[str]:
        """The same as ``fields``, like the keys of a dict."""
        return self.fields


class Pages(list[Results]):
    """Several pages, one for each question. Awaiting them returns them."""

    def __await__(self) -> Generator[None, None, Pages]:
        yield from ()
        return self


_FIELD_ON_PAGE = ". Fields of a document are on its rows: page[0].title, [row.title for row in page]"
