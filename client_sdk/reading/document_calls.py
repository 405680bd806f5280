"""Functions that read documents whole, and the parts of their Markdown. Shared with the smaller language.

Nothing here has generators, properties or classes with bases, which that language lacks.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping
from typing import Any

from winnow.client_sdk.awaitable import Rows, Text
from winnow.client_sdk.requests import Scope, document_name
from winnow.client_sdk.rows import Row, to_row
from winnow.client_sdk.transport import SDKError, call

from .document_parts import find_links, read_parts

_CODE = "code"  # the type of documents whose text is no Markdown
_WORD = re.compile(r"[^\W_]+")
_NEAR, _NEAR_CHARS = 5, 60
# Documents of one call, and their tokens: those that do not fit into an answer are asked for again.
_DOCUMENTS_AT_ONCE, _TOKENS_AT_ONCE = 50, 50_000
_WORK = ("citekey", "authors", "year", "doi")
# The document that was read last, as parts of one document are often asked for one after the other.
_latest: list[Any] = []


def text(document: Any, *, scope: Scope | None = None) -> Text:
    """The whole text of a document, whatever its length.

        whole = text("guides/retries.md")
        print(len(whole), len(whole.splitlines()), whole[:20])

    document: its document_id, path, unique title, or a row of any call. row.start and row.end of scan, sections,
    code_blocks, tables and links are characters of it (of scan: but for invisible characters, which are left out
    here). It counts as passage text, once in a run. One SDK call for each 256 KB. Pieces: read.
    """
    return Text(_load(document, scope)["text"])


def page(document: Any, number: Any, *, scope: Scope | None = None) -> Text:
    """The text of a page, slide, sheet or chapter, whatever its length.

        rows = [row for row in kb.retrieve_evidence("how long is a backup kept") if row.page_span]
        print([page(row, row.page_span) for row in rows])

    document: as in text. number: the one in page_span or locator, several ("12-14", or row.page_span), or as it
    is printed on the page ("p. iv"). A file without pages, or without this one, raises SDKError.
    """
    return Text(_read_whole({"documents": [document_name(document)], "page": number, "scope": scope})["text"])


def fields(document: Any, *, scope: Scope | None = None) -> Row:
    """The front matter of a document, nested as it is written.

        stated = fields("guides/retries.md")
        print(stated.vendor, stated["tags"], stated.get("stages", []))

    document: as in text. A list of mappings is a list of rows: stated.stages[-1].stage. Dates are text. A file
    without front matter has what it states otherwise, flat, as row.fields of documents has it.
    """
    asked = {"document": document_name(document), "scope": scope}
    return to_row(call("kb.fields", _given(asked)))["fields"]  # type: ignore[no-any-return]


def sections(document: Any, *, scope: Scope | None = None) -> Rows:
    """The sections of a document: a row for each heading, in order.

        for row in sections("settings.md"):
            print(row.level, row.heading, row.path, len(row.text))
        print([row.text for row in sections("settings.md") if row.heading == "Settings"])

    document: as in text, or a row of texts. Rows: heading, level (1 to 6), path (the headings above it and its
    own), section (the path as text), text (with its heading and all sections below it), start, end
    (text(document)[row.start:row.end] is row.text); with page, page_span and locator where the file has pages.
    """
    whole = _load_markdown("sections", document, scope)
    headings = whole["headings"]
    rows = []
    ends = _ends_of_sections(headings, len(whole["text"]))
    for number, (start, level, heading, path) in enumerate(headings):
        about = {"heading": heading, "level": level, "path": path, "text": whole["text"][start : ends[number]]}
        rows.append(_row_of(whole, start, ends[number], about))
    return Rows(rows)


def code_blocks(document: Any, language: str | None = None, *, scope: Scope | None = None) -> Rows:
    """The fenced blocks of code of a document, in order.

        for row in code_blocks("settings.md", "sh"):
            print(row.section, row.code)

    document: as in sections. language: only those of this language, case aside. Rows: language ("" where none is
    named), code (without its fences and the indentation of its list item), section, start and end (with its
    fences), page fields as in sections. Code that is only indented is not listed.
    """
    whole = _load_markdown("code_blocks", document, scope)
    rows = []
    for start, end, named, code in whole["parts"].codes:
        if language is None or named.casefold() == language.casefold():
            rows.append(_row_of(whole, start, end, {"language": named, "code": code}))
    return Rows(rows)


def tables(document: Any, *, scope: Scope | None = None) -> Rows:
    """The tables of a document, in order.

        for row in tables("guides/retries.md"):
            print(row.caption, row.header, len(row.rows), [dict(zip(row.header, cells)) for cells in row.rows])

    document: as in sections. Rows: header (a list), rows (a list of lists of cells, each as long as the header),
    caption ("" where none stands beside it), section, start, end, page fields as in sections; spans ([start, end]
    of each row). Cells are Markdown, as they are written. Parts of a table that follow each other with the same
    header, as in workbooks and over pages, are one table. For one row by its label: row.
    """
    whole = _load_markdown("tables", document, scope)
    rows = []
    for table in _join_parts(whole):
        about = {name: table[name] for name in ("header", "rows", "caption", "spans")}
        rows.append(_row_of(whole, table["start"], table["end"], about))
    return Rows(rows)


def links(document: Any, *, scope: Scope | None = None) -> Rows:
    """The links of a document, in order: inline, by reference, and addresses that are written out.

        print([(row.text, row.target, row.section) for row in links("guides/backups.md")])

    document: as in sections. Rows: text, target (as written, not resolved), section, start, end, page fields as in
    sections. Images, and what stands in code or HTML, are no links.
    """
    whole = _load_markdown("links", document, scope)
    if "links" not in whole:
        whole["links"] = find_links(whole["text"], whole["parts"])
    return Rows(
        [
            _row_of(whole, start, end, {"text": words, "target": target})
            for start, end, words, target in whole["links"]
        ]
    )


def row(label: str, document: Any, column: str | int | None = None, *, scope: Scope | None = None) -> Row:
    """The row of a table that begins with this label, in the tables of a document.

        found = row("retry limit", "guides/retries.md", "default")
        print(found.value, found.column, found.cells, [other.cells for other in found.others])

    label: the row's first cell; case, white space and punctuation aside. Without an equal one, cells that contain
    it count. document: as in sections. column: a name of the header or a part of it, or an index from 0; None: the
    first cell after the label that has a value. found: value, column, header, cells, caption, section, start, end,
    page fields as in sections. found.others: further rows with this label, in order; look whether there are some.
    Where nothing fits, SDKError names near labels, or the columns.
    """
    whole = _load_markdown("row", document, scope)
    matches = _find_label(label, _join_parts(whole))
    if not matches:
        raise SDKError("NOT_FOUND", _describe_no_label(label, whole), _NO_LABEL_HINT)
    found = []
    for table, number in matches:
        at = _find_column(table, number, column)
        if at is not None:
            found.append(_build_cell_row(whole, table, number, at))
    if not found:
        header = ", ".join([repr(name) for name in matches[0][0]["header"]])
        raise SDKError("NOT_FOUND", f"row: no single column {column!r}; the columns are {header}", _NO_COLUMN_HINT)
    return to_row({**found[0].to_dict(), "others": found[1:]})


_NO_LABEL_HINT = "tables(document) has all rows"
_NO_COLUMN_HINT = "a name, a part of one that no other column has, or an index from 0"


# --- reading


def _given(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: asked[name] for name in asked if asked[name] is not None}


def _read_whole(asked: dict[str, Any]) -> dict[str, Any]:
    """The first of the documents that are asked for, with the whole of its text."""
    return read_on(asked, call("kb.text", _given(asked))["results"][0])


def read_on(asked: dict[str, Any], piece: dict[str, Any]) -> dict[str, Any]:
    """The document of a piece with the whole of its text: this piece and all that follow it."""
    whole = {**piece, "places": list(piece["places"])}
    texts = [piece["text"]]
    length = len(piece["text"])
    while piece["next"] is not None:
        again = {**asked, "documents": [piece["document_id"]], "start": piece["next"]}
        piece = call("kb.text", _given(again))["results"][0]
        if whole["body_start"] == length:
            whole["body_start"] += piece["body_start"]
        for start, number, words in piece["places"]:
            if not whole["places"] or whole["places"][-1][1:] != [number, words]:
                whole["places"].append([length + start, number, words])
        texts.append(piece["text"])
        length += len(piece["text"])
    whole["text"] = "".join(texts)
    return whole


def first_ids(rows: list[Any]) -> list[str]:
    """The ids of the first documents of a listing, as many as one answer holds by their tokens, one at least."""
    ids: list[str] = []
    tokens = 0
    for listed in rows[:_DOCUMENTS_AT_ONCE]:
        tokens += listed["tokens"] or 0
        if ids and tokens > _TOKENS_AT_ONCE:
            return ids
        ids.append(listed["document_id"])
    return ids


def _load(document: Any, scope: Any) -> dict[str, Any]:
    """The document with its text and places; a row of ``texts`` has them."""
    if isinstance(document, Mapping) and "places" in document and "body_start" in document:
        key = (document["document_id"], id(document))
        if not _latest or _latest[0] != key:
            _latest[:] = [key, {**dict(document.items()), "holder": document}]
        return _latest[1]  # type: ignore[no-any-return]
    name = document_name(document)
    asked = (name, repr(scope))
    if not _latest or _latest[0] != asked:
        _latest[:] = [asked, _read_whole({"documents": [name], "scope": scope})]
    return _latest[1]  # type: ignore[no-any-return]


def _load_markdown(function: str, document: Any, scope: Any) -> dict[str, Any]:
    """The document with the parts of its text."""
    whole = _load(document, scope)
    if whole["type"] == _CODE:
        raise SDKError(
            "INVALID_REQUEST",
            f"{function}: {whole['file']} is code, which has no Markdown",
            "text(document) is its text",
        )
    if "parts" not in whole:
        whole["parts"] = read_parts(whole["text"], whole["body_start"])
        whole["headings"] = _with_paths(whole["parts"].headings)
        whole["heading_starts"] = [heading[0] for heading in whole["headings"]]
        whole["place_starts"] = [place[0] for place in whole["places"]]
    return whole


# --- rows


def _with_paths(headings: list[Any]) -> list[Any]:
    """Each heading with the headings above it and its own."""
    above: list[Any] = []
    found = []
    for start, level, heading in headings:
        above = [each for each in above if each[0] < level]
        above.append((level, heading))
        found.append((start, level, heading, [each[1] for each in above]))
    return found


def _ends_of_sections(headings: list[Any], length: int) -> list[int]:
    """Where each section ends: at the next heading that is not below its own."""
    ends = []
    following: list[Any] = []  # start and level of the headings that end a section before them
    for start, level, _, _ in reversed(headings):
        while following and following[-1][1] > level:
            following.pop()
        ends.append(following[-1][0] if following else length)
        following.append((start, level))
    return ends[::-1]


def _row_of(whole: dict[str, Any], start: int, end: int, about: dict[str, Any]) -> Row:
    """A row of a part: what it is, its document, its section and its pages."""
    number = bisect.bisect_right(whole["heading_starts"], start) - 1
    known = {name: whole[name] for name in ("document_id", "file", "title", "type")}
    known.update({name: whole[name] for name in _WORK if name in whole and whole[name] is not None})
    known["section"] = " > ".join(whole["headings"][number][3]) if number >= 0 else ""
    known.update({**about, "start": start, "end": end})
    if whole["places"]:
        first = _place_at(whole, start)
        last = _place_at(whole, max(end - 1, start))
        known["locator"] = _name_places(first[2], last[2])
        if first[1] is not None and last[1] is not None:
            known["page"] = first[1]
            known["page_span"] = [first[1], last[1]]
    return to_row(known)


_NUMBERED = re.compile(r"(p\.|slide|chapter|cell|message|.*, rows?) (\d++)(?:-(\d++))?\Z")
_SEVERAL = {"p.": "pp."}


def _name_places(first: str, last: str) -> str:
    """Two places in words: "pp. 3-4", "slides 3-4"; those that are not numbered alone are joined by "to"."""
    ends = (_NUMBERED.match(first), _NUMBERED.match(last))
    if first == last:
        return first
    if ends[0] is None or ends[1] is None:
        return f"{first} to {last}"
    nouns = [_SEVERAL.get(end.group(1), end.group(1).removesuffix("s") + "s") for end in ends if end is not None]
    if nouns[0] != nouns[1]:
        return f"{first} to {last}"
    return f"{nouns[0]} {ends[0].group(2)}-{ends[1].group(3) or ends[1].group(2)}"


def _place_at(whole: dict[str, Any], at: int) -> Any:
    return whole["places"][max(bisect.bisect_right(whole["place_starts"], at) - 1, 0)]


# --- rows of tables by their labels


def _join_parts(whole: dict[str, Any]) -> list[Any]:
    """The tables; those with one header and nothing between them, as in sheets and over pages, are one."""
    if "tables" not in whole:
        whole["tables"] = []
        for table in whole["parts"].tables:
            last = whole["tables"][-1] if whole["tables"] else None
            if (
                last is None
                or last["header"] != table["header"]
                or whole["text"][last["end"] : table["start"]].strip()
            ):
                whole["tables"].append({**table, "rows": list(table["rows"]), "spans": list(table["spans"])})
            else:
                last["rows"] += table["rows"]
                last["spans"] += table["spans"]
                last["end"] = table["end"]
    return whole["tables"]  # type: ignore[no-any-return]


def _key_of(cell: str) -> str:
    return " ".join(_WORD.findall(cell.casefold()))


def _label_of(cells: list[str]) -> int:
    """The index of the first cell that is not empty."""
    for number, cell in enumerate(cells):
        if _key_of(cell):
            return number
    return 0


def _find_label(label: str, held: list[Any]) -> list[Any]:
    """The tables and numbers of the rows whose label is this, or else of those whose label contains it."""
    key = _key_of(label)
    equal = []
    containing = []
    for table in held:
        for number, cells in enumerate(table["rows"]):
            known = _key_of(cells[_label_of(cells)]) if cells else ""
            if known == key and key:
                equal.append((table, number))
            elif key and f" {key} " in f" {known} ":
                containing.append((table, number))
    return equal or containing


def _find_column(table: dict[str, Any], number: int, column: Any) -> Any:
    """The index of the cell under this column, None where the table does not have it."""
    header = table["header"]
    cells = table["rows"][number]
    if column is None:
        after = range(_label_of(cells) + 1, len(cells))
        filled = [at for at in after if _key_of(cells[at])]
        return filled[0] if filled else min(_label_of(cells) + 1, len(cells) - 1)
    if isinstance(column, int):
        at = column if column >= 0 else column + len(header)
        return at if 0 <= at < len(header) else None
    key = _key_of(column)
    names = [_key_of(name) for name in header]
    fitting = [at for at, name in enumerate(names) if name == key]
    fitting = fitting or [at for at, name in enumerate(names) if key and f" {key} " in f" {name} "]
    fitting = fitting or [at for at, name in enumerate(names) if key and key in name]
    if len(fitting) != 1:
        return None
    at = fitting[0]
    # A sign of a currency stands in a column of its own before the number.
    while not _key_of(cells[at]) and at + 1 < len(cells) and not names[at + 1]:
        at += 1
    return at


def _build_cell_row(whole: dict[str, Any], table: dict[str, Any], number: int, at: int) -> Row:
    start, end = table["spans"][number]
    about = {"value": table["rows"][number][at], "column": table["header"][at], "cells": table["rows"][number]}
    about.update({"header": table["header"], "caption": table["caption"]})
    return _row_of(whole, start, end, about)


def _describe_no_label(label: str, whole: dict[str, Any]) -> str:
    """The message for a label that no row has, with those that have most words of it."""
    labels = []
    for table in _join_parts(whole):
        labels += [cells[_label_of(cells)] for cells in table["rows"] if cells]
    if not labels:
        return f"row: {whole['file']} has no rows of tables"
    words = set(_key_of(label).split())
    near = sorted(dict.fromkeys(labels), key=lambda each: -len(words & set(_key_of(each).split())))[:_NEAR]
    named = ", ".join([repr(each[:_NEAR_CHARS]) for each in near])
    return f"row: no row is labelled {label!r} in {whole['file']}; near labels: {named}"
