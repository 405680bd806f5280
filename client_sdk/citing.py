"""Citations of rows. The docstring of ``cite`` is the reference for authors of scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import shaping
from .awaitable import Text
from .calls import Scope
from .rows import Row, to_row
from .transport import call

# Names of a row's id, the most exact first.
_IDS = ("id", "passage_id", "section_id", "document_id")
_EMPTY: Mapping[str, Any] = {"citations": [], "entries": [], "citekeys": [], "uncited": [], "places": []}


def cite(rows: Any, style: str | None = None, *, scope: Scope | None = None) -> Text | Row:
    """Citations of rows, with their pages, and entries of the works that they are from.

        rows = kb.retrieve_evidence("how are retries configured")
        cited = cite(rows, style="pandoc")
        print(list(zip(cited.citations, [row.quote for row in rows])), cited.citekeys)

    rows: rows of any call. style: "pandoc" ([@ohm1827, p. 45]), "apa", "chicago", "harvard", "ieee", "mla",
    "vancouver", "bibtex", "csl-json" or "markdown"; None:
    that of the project. cited.citations: one for each row, "" where its document has no citekey. cited.entries:
    one for each work, as a list of references has it. cited.citekeys: all keys that a text made from these rows
    may use. cited.uncited: files without one. cited.places: one for each row, "ohm.pdf, p. 33 (file page 45)". One
    row without a style: a line of title, section, place and id.
    """
    if style is None and (isinstance(rows, Mapping) or not isinstance(rows, Iterable)):
        return shaping.cite(rows)
    given = [rows] if isinstance(rows, (Mapping, str)) else [*rows]
    if not given:
        return to_row({"style": style or "pandoc", **_EMPTY})
    params = {"rows": [_place_of(row) for row in given], "style": style, "scope": scope}
    return to_row(call("kb.cite", {name: value for name, value in params.items() if value is not None}))


def _place_of(row: Any) -> dict[str, Any]:
    """The id of a row, and its pages where it has some."""
    if not isinstance(row, Mapping):
        return {"id": row}
    identity = next((row[name] for name in _IDS if name in row), None) or shaping._field(row, "id")
    span = row.get("page_span")
    return {"id": identity} if span is None else {"id": identity, "page_span": [*span]}
