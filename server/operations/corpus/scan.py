"""``kb.scan``: every match of a pattern in all text in scope, or their counts by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from server import intake
from server.contracts.corpus import MAX_MATCH_CHARS, Scan
from server.locators import address_of, locator_fields
from server.models import Place
from server.operations.base import Answer, RequestContext
from server.operations.corpus.page_bounds import DIRECT_ROWS, size_limit
from server.operations.corpus.patterns import Pattern, compile_pattern
from server.operations.corpus.sheet_rows import narrow_to_rows
from server.operations.corpus.tallies import DOCUMENT_KEYS, Key, KeyedTallies, Tally, is_text_key, key_of
from server.operations.corpus.walking import Found, ScannedDocument, Walk
from server.operations.paging import TIME_ENDED, AnswerPage, ScanCursor, build_page, fingerprint, resume_scan
from server.operations.ranking.candidates import generation_of
from server.operations.ranking.scope import filters_of
from server.text.printable import one_line, printable, shorten

_CUT = (
    f"{{count}} of these matches are cut after {MAX_MATCH_CHARS} characters, at the sign …: start and end are of "
    "the whole match, which reading the document from start has"
)
# No more fit into an answer to a script.
_SCRIPT_ROWS = 4_000
_STOPPED = f"{TIME_ENDED}; total and scanned are of the part that was, next_cursor goes on with the rest"
_ADD_UP = "each of these pages has its own counts: add those of a key up"
_ANCHORS = "^ and $ are the ends of a whole document here; with (?m) before the pattern they are those of lines"


class Collector(Protocol):
    """What becomes of the matches of each document."""

    def look(self, scanned: ScannedDocument) -> None:
        """Look through a document. Raises ``OutOfTime`` and keeps nothing of the document then."""

    @property
    def rows(self) -> Sequence[dict[str, Any]]:
        """The rows of the page, and one more if there are more."""


def scan(context: RequestContext, request: Scan) -> Answer:
    """Answer with the matches of a pattern in all text in scope, by document, or with their counts by key."""
    pattern = compile_pattern(request.pattern, literal=request.literal, word=request.word, case=request.case)
    filters = filters_of(context, request.scope, request.filters, request.path, request.where)
    generation = generation_of(context, filters)
    cursor = resume_scan(request.cursor, request)
    walk = Walk(context, filters, cursor.first, cursor.last, pattern.needed)
    total = Tally()
    most = min(request.limit, DIRECT_ROWS if context.caller.budget.is_direct else _SCRIPT_ROWS)
    collector: Collector
    if request.group_by is None:
        collector = _MatchRows(walk, pattern, total, request.context, cursor.offset, most)
    else:
        key = key_of(request.group_by, pattern)
        collector = _KeyRows(walk, pattern, total, key, cursor.offset, most, request.group_by in DOCUMENT_KEYS)
    walk.run(collector.look)
    here = ScanCursor(cursor.offset, walk.first, cursor.last, fingerprint(request), generation)
    warnings = (
        *cursor.moved(generation),
        *_warnings(walk, pattern, total, is_grouped=request.group_by is not None),
    )
    return _build_answer(context, request, walk, total, collector.rows, most, here, warnings)


@dataclass
class _MatchRows:
    """The rows of one page of matches; all are counted."""

    walk: Walk
    pattern: Pattern
    total: Tally
    around: int
    skipped: int
    most: int
    rows: list[dict[str, Any]] = field(default_factory=list)

    def look(self, scanned: ScannedDocument) -> None:
        tally = Tally()
        rows: list[dict[str, Any]] = []
        first, end = self.skipped - self.total.matches, self.skipped + self.most + 1 - self.total.matches
        for found in self.walk.matches(scanned, self.pattern):
            if first <= tally.matches < end:
                rows.append(_build_row(scanned, found, self.pattern.groups, self.around))
            tally.add(found)
        self.rows += rows
        self.total.merge(tally)


@dataclass
class _KeyRows:
    """The counts by key."""

    walk: Walk
    pattern: Pattern
    total: Tally
    key: Key
    skipped: int
    most: int
    is_by_document: bool
    keyed: KeyedTallies = field(default_factory=KeyedTallies)
    # Of documents that are keys, by key.
    works: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def look(self, scanned: ScannedDocument) -> None:
        tally, keyed = Tally(), KeyedTallies()
        for found in self.walk.matches(scanned, self.pattern):
            tally.add(found)
            keyed.of(self.key(scanned, found)).add(found)
        self.keyed.merge(keyed)
        self.total.merge(tally)
        if self.is_by_document and tally.matches and scanned.work:
            self.works[scanned.document.uri] = scanned.work

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows = self.keyed.rows()[self.skipped : self.skipped + self.most + 1]
        return [self._build_row(row) for row in rows]

    def _build_row(self, row: dict[str, Any]) -> dict[str, Any]:
        key, work = printable(row["key"]), self.works.get(row["key"], {})
        return {**row, "key": key, **({"file": one_line(key)} if self.is_by_document else {}), **work}


def _build_row(scanned: ScannedDocument, found: Found, groups: int, around: int) -> dict[str, Any]:
    document = scanned.document
    chunk = None if found.chunk is None else scanned.chunks[found.chunk]
    before = scanned.characters(max(0, found.start - around), found.start)
    match = scanned.characters(found.start, min(found.end, found.start + MAX_MATCH_CHARS + 1))
    after = scanned.characters(found.end, found.end + around)
    located = locator_fields(_exact_places(scanned, found), found.start, found.end, address_of(document))
    return {
        "match": _shorten(match),
        "groups": [_shorten(scanned.decode(found.match.span(number))) for number in range(1, groups + 1)],
        "passage_id": None if chunk is None else chunk.id,
        "document_id": document.id,
        "file": one_line(document.uri),
        "title": one_line(document.title or document.uri),
        "section": None if chunk is None else one_line(" > ".join(chunk.heading_path)),
        "start": found.start,
        "end": found.end,
        "context": one_line(before + shorten(match, MAX_MATCH_CHARS) + after, 2 * around + MAX_MATCH_CHARS),
        **({"page": located["page_span"][0]} if "page_span" in located else {}),
        **located,
        **scanned.work,
    }


def _exact_places(scanned: ScannedDocument, found: Found) -> Sequence[Place]:
    return narrow_to_rows(scanned.places, found.start, found.end, scanned.length, scanned.characters)


def _shorten(text: str | None) -> Any:
    return None if text is None else shorten(printable(text[: MAX_MATCH_CHARS + 1]), MAX_MATCH_CHARS)


def _is_cut(row: Any) -> bool:
    """Whether the match of a row is shown in part."""
    return row.get("start") is not None and row["end"] - row["start"] > MAX_MATCH_CHARS


def _warnings(walk: Walk, pattern: Pattern, total: Tally, *, is_grouped: bool) -> tuple[str, ...]:
    stopped = () if walk.is_complete else (f"{_STOPPED}; {_ADD_UP}" if is_grouped else _STOPPED,)
    return (*stopped, *((_ANCHORS,) if pattern.has_anchors and not total.matches else ()))


def _build_answer(
    context: RequestContext,
    request: Scan,
    walk: Walk,
    total: Tally,
    rows: Sequence[dict[str, Any]],
    most: int,
    here: ScanCursor,
    warnings: tuple[str, ...],
) -> Answer:
    envelope = {"total": total.to_dict(), "scanned": walk.scanned, "complete": walk.is_complete}
    if not walk.is_complete:
        here = replace(here, last=walk.next)  # the following pages are of the same documents
    page = build_page(rows[:most], envelope, size_limit(context, request), here, more=len(rows) > most)
    # Rows of an earlier page that this walk did not reach again are not sent twice. Keys belong to their walk.
    skipped = max(0, here.offset - total.matches) if request.group_by is None else 0
    next_cursor, reason = _next(walk, replace(here, offset=skipped, first=walk.next, last=0), page)
    payload = {
        "results": list(page.rows),
        **envelope,
        "count": len(page.rows),
        "partial": next_cursor is not None,
        "limit_reason": reason,
        "next_cursor": next_cursor,
    }
    cut = sum(map(_is_cut, page.rows))
    # Counts cost a script only their call.
    rows_charged = len(page.rows) if request.group_by is None else 0
    return Answer(
        payload,
        "metadata",
        rows_charged,
        page.tokens,
        (*warnings, *((_CUT.format(count=cut),) if cut else ())),
        noted={"cursors": int(request.cursor is not None)},
        taken=intake.total(_taken(row, request.group_by) for row in page.rows),
    )


def _taken(row: Any, group_by: str | None) -> intake.Intake:
    """The text of documents in a row: what stands around a match, and what it and its groups have beyond that."""
    if group_by is not None:  # a key that is no text is a path, a folder or headings
        return intake.piece("", row["key"]) if is_text_key(group_by) else {}
    seen = row["context"]
    texts = [text for text in (row["match"], *row["groups"]) if text and " ".join(text.split()) not in seen]
    return intake.total(intake.piece(row["document_id"], text) for text in dict.fromkeys((seen, *texts)))


def _next(walk: Walk, after: ScanCursor, page: AnswerPage) -> tuple[str | None, str]:
    """The cursor of what follows, and why the page ends. ``after``: the cursor of the documents after the walk."""
    if page.next_cursor is not None or walk.is_complete:
        return page.next_cursor, page.limit_reason
    return after.encode(), "time"
