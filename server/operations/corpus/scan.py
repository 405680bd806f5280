"""``kb.scan``: every match of a pattern in all text in scope, or their counts by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from winnow.server.bibliographies.locators import address_of, cite_work, locator_fields
from winnow.server.contracts.corpus.scan import MAX_MATCH_CHARS, Scan, ScanAnswer
from winnow.server.models import Place
from winnow.server.operations.answers import text_charges
from winnow.server.operations.answers.budget import SCRIPT_ANSWER_BYTES
from winnow.server.operations.answers.paging import (
    TIME_ENDED,
    AnswerPage,
    ScanCursor,
    build_page,
    fingerprint,
    resume_scan,
)
from winnow.server.operations.answers.rendering import partial_note
from winnow.server.operations.base import DIRECT, Answer, RequestContext
from winnow.server.operations.corpus.matched_text import ShownLength, require_handed_over, shown_length
from winnow.server.operations.corpus.page_bounds import DIRECT_ROWS, size_limit
from winnow.server.operations.corpus.patterns import Pattern, compile_pattern
from winnow.server.operations.corpus.sheet_rows import narrow_to_rows
from winnow.server.operations.corpus.tallies import DOCUMENT_KEYS, Key, KeyedTallies, Tally, is_text_key, key_of
from winnow.server.operations.corpus.walking import PlacedMatch, ScannedDocument, Walk
from winnow.server.operations.declaration import Operation, Script, ToolSpec, has_kb_tools, omit_without_scripts
from winnow.server.operations.ranking.candidates import generation_of
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.text.framing import frame_text
from winnow.server.text.printable import one_line, printable, shorten
from winnow.server.text.sizes import count_of

# No more fit into an answer to a script.
_SCRIPT_ROWS = 4_000
_STOPPED = f"{TIME_ENDED}; total and scanned are of the part that was, next_cursor goes on with the rest"
_ADD_UP = "each of these pages has its own counts: add those of a key up"
_ANCHORS = "^ and $ are the ends of a whole document here; with (?m) before the pattern they are those of lines"


class Collector(Protocol):
    """Protocol of a collector of the matches of each document."""

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
    shown = shown_length(context, request)
    walk = Walk(context, filters, cursor.first, cursor.last, pattern.needed)
    total = Tally()
    most = min(request.limit, DIRECT_ROWS if context.caller.budget.is_direct else _SCRIPT_ROWS)
    collector: Collector
    if request.group_by is None:
        collector = _MatchRows(walk, pattern, total, shown, request.context, cursor.offset, most)
    else:
        key = key_of(request.group_by, pattern, shown)
        collector = _KeyRows(walk, pattern, total, key, shown, request.group_by, cursor.offset, most)
    walk.run(collector.look)
    here = ScanCursor(cursor.offset, walk.first, cursor.last, fingerprint(request), generation)
    warnings = (
        *cursor.moved(generation),
        *_warnings(walk, pattern, total, is_grouped=request.group_by is not None),
    )
    return _build_answer(context, request, walk, total, collector.rows, most, here, shown, warnings)


@dataclass
class _MatchRows:
    """The rows of one page of matches, as far as an answer can hold them; all are counted."""

    walk: Walk
    pattern: Pattern
    total: Tally
    shown: ShownLength
    around: int
    skipped: int
    most: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    _size: int = 0  # characters of the matches and groups of the rows

    def look(self, scanned: ScannedDocument) -> None:
        tally, size = Tally(), self._size
        rows: list[dict[str, Any]] = []
        first, end = self.skipped - self.total.matches, self.skipped + self.most + 1 - self.total.matches
        for found in self.walk.matches(scanned, self.pattern):
            if first <= tally.matches < end and size < SCRIPT_ANSWER_BYTES:
                rows.append(self._build_row(scanned, found))
                size += _size(rows[-1])
            tally.add(found)
        self.rows += rows
        self._size = size
        self.total.merge(tally)

    def _build_row(self, scanned: ScannedDocument, found: PlacedMatch) -> dict[str, Any]:
        place = (scanned.document.uri, found.start, found.end)
        if self.shown.match is None:
            require_handed_over(found.end - found.start, "a match", *place)
        numbers = range(1, self.pattern.groups + 1)
        groups = [scanned.decode(found.match.span(number)) for number in numbers]
        row = _build_row(scanned, found, groups, self.shown, self.around)
        require_handed_over(_size(row), "a match with its groups", *place)
        return row


@dataclass
class _KeyRows:
    """The counts by key."""

    walk: Walk
    pattern: Pattern
    total: Tally
    key: Key
    shown: ShownLength
    group_by: str
    skipped: int
    most: int
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
        if self.group_by in DOCUMENT_KEYS and tally.matches and scanned.work:
            self.works[scanned.document.uri] = scanned.work

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows = self.keyed.rows()[self.skipped : self.skipped + self.most + 1]
        return [self._build_row(row) for row in rows]

    def _build_row(self, row: dict[str, Any]) -> dict[str, Any]:
        key, work = printable(row["key"]), self.works.get(row["key"], {})
        named = {"file": one_line(key)} if self.group_by in DOCUMENT_KEYS else {}
        cut = {"truncated": True} if is_text_key(self.group_by) and self.shown.is_cut_key(row["key"]) else {}
        return {**row, "key": key, **named, **cut, **work}


def _build_row(
    scanned: ScannedDocument, found: PlacedMatch, groups: Sequence[str | None], shown: ShownLength, around: int
) -> dict[str, Any]:
    document = scanned.document
    chunk = None if found.chunk is None else scanned.chunks[found.chunk]
    before = scanned.characters(max(0, found.start - around), found.start)
    match = scanned.characters(found.start, found.end)
    after = scanned.characters(found.end, found.end + around)
    located = locator_fields(_exact_places(scanned, found), found.start, found.end, address_of(document))
    return {
        "match": shown.cut(match),
        "groups": [None if group is None else shown.cut(group) for group in groups],
        **({"truncated": True} if shown.is_cut((match, *filter(None, groups))) else {}),
        "passage_id": None if chunk is None else chunk.id,
        "document_id": document.id,
        "file": one_line(document.uri),
        "title": one_line(document.title or document.uri),
        "section": None if chunk is None else one_line(" > ".join(chunk.heading_path)),
        "start": found.start,
        "end": found.end,
        "context": one_line(
            before + shorten(match[: MAX_MATCH_CHARS + 1], MAX_MATCH_CHARS) + after, 2 * around + MAX_MATCH_CHARS
        ),
        **({"page": located["page_span"][0]} if "page_span" in located else {}),
        **located,
        **scanned.work,
    }


def _size(row: Mapping[str, Any]) -> int:
    """The characters of the match of a row, and of its groups."""
    return len(row["match"]) + sum(len(group) for group in row["groups"] if group is not None)


def _exact_places(scanned: ScannedDocument, found: PlacedMatch) -> Sequence[Place]:
    return narrow_to_rows(scanned.places, found.start, found.end, scanned.length, scanned.characters)


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
    shown: ShownLength,
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
    cut = sum("truncated" in row for row in page.rows)
    # Counts cost a script only their call.
    rows_charged = len(page.rows) if request.group_by is None else 0
    return Answer(
        payload,
        "metadata",
        rows_charged,
        page.tokens,
        (*warnings, *((shown.warning(cut, is_grouped=request.group_by is not None),) if cut else ())),
        noted={"cursors": int(request.cursor is not None)},
        charged_text=text_charges.total(_charged_text(row, request.group_by) for row in page.rows),
    )


def _charged_text(row: Any, group_by: str | None) -> text_charges.ChargedText:
    """The text of documents in a row: what stands around a match, and what it and its groups have beyond that."""
    if group_by is not None:  # a key that is no text is a path, a folder or headings
        return text_charges.piece("", row["key"]) if is_text_key(group_by) else {}
    seen = row["context"]
    texts = [text for text in (row["match"], *row["groups"]) if text and " ".join(text.split()) not in seen]
    return text_charges.total(
        text_charges.piece(row["document_id"], text) for text in dict.fromkeys((seen, *texts))
    )


def _next(walk: Walk, after: ScanCursor, page: AnswerPage) -> tuple[str | None, str]:
    """The cursor of what follows, and why the page ends. ``after``: the cursor of the documents after the walk."""
    if page.next_cursor is not None or walk.is_complete:
        return page.next_cursor, page.limit_reason
    return after.encode(), "time"


_KEY_CHARS = 300


def render_scan(payload: dict[str, Any]) -> list[str]:
    """The totals, then the matches by document or the counts by key."""
    lines = [_headline(payload)]
    file = ""
    for row in payload["results"]:
        if "key" in row:
            lines.append(
                f"{row['matches']} in {count_of(row['passages'], 'passage')}, "
                f"{count_of(row['documents'], 'document')}:"
            )
            lines += frame_text(one_line(row["key"], _KEY_CHARS))
            continue
        if row["file"] != file:
            file = row["file"]
            facts = (file, row["title"], cite_work(row), f"document {row['document_id']}")
            lines.append(" | ".join(filter(None, facts)))
        lines += _render_match(row)
    if payload.get("next_cursor"):
        lines.append(f"next_cursor: {payload['next_cursor']}")
    return lines


def _headline(payload: dict[str, Any]) -> str:
    total, scanned = payload["total"], payload["scanned"]
    more = partial_note(payload, "limit")
    extent = "complete" if payload["complete"] else "not complete"
    return (
        f"{count_of(total['matches'], 'match', 'matches')} in {count_of(total['passages'], 'passage')} "
        f"of {count_of(total['documents'], 'document')}; {extent}: "
        f"{count_of(scanned['documents'], 'document')} looked through; {count_of(payload['count'], 'row')}{more}"
    )


def _render_match(row: dict[str, Any]) -> list[str]:
    passage = f"[{row['passage_id']}] " if row.get("passage_id") else ""
    groups = [group for group in row["groups"] if group is not None]
    place = f" {row['locator']}" if "locator" in row else ""
    lines = [f"{passage}{row['start']}-{row['end']}{place}", *frame_text(row["context"])]
    if row["match"] not in row["context"]:
        lines += frame_text(one_line(row["match"]))
    return [*lines, *(line for group in groups for line in frame_text(f"group: {one_line(group)}"))]


_KB_SCAN_DESCRIPTION = """\
Every match of a regular expression in all text, or their counts: nothing is ranked or left out.
Use when: you list or count all places of a word or pattern.
Do not use when: you ask a question (kb_retrieve_evidence), or compute with matches (execute_code: scan).
Returns at most: 2,000 tokens; 8,000 with limit. total counts all.
If you need more, call: this with cursor, or group_by.
Defaults: context 80. Max: limit 10,000."""
_KB_SCAN_DOC = r"""
Every match of a regular expression in all text in scope: a list, not a ranking.

    page = scan(r"(?i)retries: (\d+)")
    print(page.total, page.complete)
    for row in page:
        print(row.match, row.groups, row.file, row.start, row.context)
    pages = scan(r"\bretry\b", group_by="document")
    print([(row.key, row.matches) for row in pages])

literal: plain text, as a reader sees it: across line ends, their hyphens, and marks. word: whole words only.
case: False ignores case. path: a glob or prefix ("guides/*"); where: front-matter fields ({"stage": "beta"}).
group_by: "document", "folder", "section", "match", or a group's name or number; rows are then row.key,
row.matches, row.passages and row.documents, most matches first. context: characters on each side, 0 to 500.
max_match: cuts row.match, row.groups and row.key to this many characters (row.truncated); default: no cut.
limit: rows of a page, 1 to 10,000; page.all() has all.

page.total: matches, passages, documents; page.complete: False if time ran out.
row.start and row.end are characters of the document's text. The syntax is Python's without look-around and
backreferences; ^ and $ match at each line with (?m); \b knows ASCII words only, word=True those of any
language.
"""
KB_SCAN = Operation(
    "kb.scan",
    Scan,
    scan,
    script=Script(
        "pattern * literal word case path where filters scope group_by context max_match limit cursor",
        _KB_SCAN_DOC,
        name="scan",
        types={"pattern": "str | re.Pattern[str]", "group_by": "str | int | None"},
    ),
    tool=ToolSpec(
        title="List every match",
        description=_KB_SCAN_DESCRIPTION,
        answer=ScanAnswer,
        render=render_scan,
        max_size=DIRECT.of("metadata"),
        is_repeatable=True,
        is_offered=has_kb_tools,
        fit_description=omit_without_scripts(", or compute with matches (execute_code: scan)"),
    ),
)
