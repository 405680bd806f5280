"""Documents: the list, those of which little came into the index, one with its passages, and a marked page."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from winnow.server.console.desk import OpenDesk
from winnow.server.console.records import Asked, PageView
from winnow.server.contracts.corpus.documents import Sort
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import SCRIPT, Answer

_ROWS, _READ_TOKENS, _LINE_CHARS = 50, 2_000, 160
_SORTS = ("path", "title", "updated", "-updated", "tokens", "-tokens")
# The first lines of passages: the first match in each is shown.
_LINES, _MOST_LINES = r"(?m)^.*\S.*$", 1_000


async def list_documents(asked: Asked) -> PageView:
    """Documents by path, a page at a time."""
    sort: Sort = asked.text("sort", "path")
    path, cursor = asked.text("path"), asked.text("cursor")
    arguments = {"limit": _ROWS, "sort": sort, **asked.scope, **_given(path=path, cursor=cursor)}
    async with asked.desk.opened() as desk:
        payload = (await desk.call("kb.documents", arguments)).payload
    values = {"payload": payload, "sorts": _SORTS, "sort": sort, "path": path, **_projects(asked)}
    return PageView("documents.html", "Documents", values)


async def list_thin(asked: Asked) -> PageView:
    """Documents of which little can be found, with advice."""
    return PageView("thin.html", "Health of documents", {"rows": await asyncio.to_thread(asked.reports.thin)})


async def show_document(asked: Asked) -> PageView:
    """The text of a document, a piece at a time, and its passages by their first lines."""
    document, start = asked.text("id"), asked.number("start", 0, 10**9)
    arguments = {"document": document, "start": start, "max_tokens": _READ_TOKENS, **asked.scope}
    async with asked.desk.opened() as desk:
        read = await desk.call("kb.read", arguments)
        passages, has_more = await _list_passages(desk, asked, read.payload["file"])
    values = {"payload": read.payload, "passages": passages, "has_more": has_more, **_projects(asked)}
    return PageView("document.html", read.payload["title"] or read.payload["file"], values)


async def _list_passages(desk: OpenDesk, asked: Asked, file: str) -> tuple[list[Mapping[str, Any]], bool]:
    """The first line of each passage of a file, and whether there are more than one scan finds."""
    arguments = {"pattern": _LINES, "path": file, "context": 0, "limit": _MOST_LINES, **asked.scope}
    found = (await desk.call("kb.scan", {**arguments, "max_match": _LINE_CHARS}, SCRIPT)).payload
    rows = [row for row in found["results"] if row["file"] == file]
    first = {row["passage_id"]: row for row in reversed(rows)}
    return sorted(first.values(), key=lambda row: int(row["start"])), bool(found["next_cursor"])


async def show_page(asked: Asked) -> PageView:
    """The page of a citation, or the lines, with the quote or the passage marked, as ``kb.show`` draws it."""
    named = _given(**{name: asked.text(name) for name in ("passage_id", "document", "page", "quote")})
    if not named:
        raise WinnowError("INVALID_REQUEST", "a page is asked for by passage_id, or by document, page and quote")
    async with asked.desk.opened() as desk:
        answer = await desk.call("kb.show", {**named, **asked.scope})
    payload = answer.payload
    values = {
        "payload": payload,
        "warnings": answer.warnings,
        "parts": [*_mark_parts(payload)],
        "pictures": [*_pictures(answer)],
        "quote": named.get("quote", ""),
        "pages": [*_neighbours(payload)],
        **_projects(asked),
    }
    return PageView("page.html", payload["title"] or payload["file"], values)


def _mark_parts(payload: Mapping[str, Any]) -> Iterator[tuple[bool, str]]:
    """The text in parts, each with whether it is marked."""
    text: str = payload["text"]
    start, end = payload.get("marked") or (len(text), len(text))
    yield from ((False, text[:start]), (True, text[start:end]), (False, text[end:]))


def _pictures(answer: Answer) -> Iterator[str]:
    """The images of an answer as data URLs: the page asks for no file."""
    for image in answer.images:
        yield f"data:{image.mime_type};base64,{b64encode(image.data).decode('ascii')}"


def _neighbours(payload: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The pages before and after, of a document with numbered pages."""
    span = payload.get("page_span")
    if payload.get("image") and span:
        if span[0] > 1:
            yield "Previous page", span[0] - 1
        yield "Next page", span[1] + 1


def _given(**values: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def _projects(asked: Asked) -> dict[str, Any]:
    return {"projects": asked.desk.settings.reachable, "project": asked.project}
