"""``kb.repeats``: text that stands in several places.

A text is a run of paragraphs; paragraphs are compared by their words, white space aside. Runs are maximal: two
neighbouring paragraphs are of one run if each always stands beside the other, as non-branching paths are joined in
a de Bruijn graph (Pevzner, Tang and Waterman 2001). So a run ends where its copies part, and where a piece of it
also stands elsewhere. The texts are read three times, in linear time: to find the paragraphs that repeat, in a
table of fixed size; to learn what stands beside them; to note the places of the runs on the page.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from winnow.server.bibliographies.locators import address_of, locator_fields, work_fields
from winnow.server.contracts.corpus.repeats import MAX_PLACES, MAX_REPEAT_CHARS, FindRepeats
from winnow.server.errors import WinnowError
from winnow.server.models import ChunkSpan, Document, Filters
from winnow.server.operations.answers import text_charges
from winnow.server.operations.answers.paging import Cursor, build_page, fingerprint, resume
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.corpus.paragraphs import Paragraph, iterate_paragraphs
from winnow.server.operations.declaration import Operation, Script
from winnow.server.operations.ranking.candidates import generation_of
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.runtime.deadlines import check_deadline, current_deadline
from winnow.server.storage.base import DocumentStore
from winnow.server.text.printable import one_line, printable, shorten

_SLOTS = 1 << 24  # of the table: 16 MB, one byte each
_MOST_REPEATED = 500_000  # paragraphs that repeat; about 300 bytes each
# Of the time that is left, the first reading may take so much; the two others take as long.
_FIRST_SHARE = 0.25
_LOOK_EVERY = 4_096  # paragraphs between two looks at the clock
_BRANCH = b""  # what stands beside a paragraph is not always the same
_STOPPED = (
    "only {read:,} of {all:,} documents were compared: {why}; narrow the documents with path or where to compare "
    "the others"
)
_TOO_LONG = (
    "the document {name!r} alone takes more time than this call has; leave it out with path, or ask for the others"
)


@dataclass(slots=True)
class _Repeated:
    """A paragraph that may repeat: how often it stands, its length, and what stands before and after it."""

    copies: int = 0
    chars: int = 0
    before: bytes | None = None
    after: bytes | None = None

    def add(self, before: bytes | None, after: bytes | None, chars: int) -> None:
        """Note one more place."""
        if self.copies == 0:
            self.before, self.after, self.chars = before, after, chars
        self.before = before if before == self.before else _BRANCH
        self.after = after if after == self.after else _BRANCH
        self.copies += 1


@dataclass(slots=True)
class _ParagraphRun:
    """A maximal run: its paragraphs in order, its places, its text."""

    digests: tuple[bytes, ...]
    copies: int
    chars: int
    text: str = ""
    places: list[dict[str, Any]] = field(default_factory=list)

    @property
    def order(self) -> tuple[int, bytes]:
        """The runs that repeat the most text come first."""
        return -self.chars * (self.copies - 1), self.digests[0]


class _Layout:
    """The chunks of a document and the places in its file, by character."""

    def __init__(self, document: Document, catalogue: DocumentStore) -> None:
        self._document = document
        self._chunks: Sequence[ChunkSpan] = catalogue.spans(document.id)
        self._ends = list(accumulate((chunk.end for chunk in self._chunks), max))
        self._places = catalogue.places(document.id)
        self._work = work_fields(document.metadata)

    def locate(self, start: int, end: int) -> dict[str, Any]:
        """The fields of a copy that stands between these characters."""
        document, passage = self._document, self._chunk_at(start)
        return {
            "document_id": document.id,
            "file": one_line(document.uri, 1_000),
            "start": start,
            "end": end,
            **({} if passage is None else {"passage_id": passage}),
            **locator_fields(self._places, start, end, address_of(document)),
            **self._work,
        }

    def _chunk_at(self, start: int) -> str | None:
        """The id of the first chunk that ends after this character, else of the last one; None without chunks."""
        number = min(bisect_right(self._ends, start), len(self._chunks) - 1)
        return self._chunks[number].id if self._chunks else None


def find_repeats(context: RequestContext, request: FindRepeats) -> Answer:
    """Answer with the texts that stand in several places of the documents in scope, the largest first."""
    filters = filters_of(context, request.scope, request.filters, request.path, request.where)
    generation = generation_of(context, filters)
    cursor = resume(request.cursor, request, unlimited=True)
    documents = context.index.catalogue.documents_within(filters)
    repeats = _Repeats(context, filters, documents)
    runs = repeats.find(request.min_chars)
    page_runs = runs[cursor.offset : cursor.offset + request.limit]
    repeats.locate(page_runs)
    rows = [_build_row(run) for run in page_runs]
    envelope = {"total": {"texts": len(runs), "copies": sum(run.copies for run in runs)}, **repeats.extent}
    here = Cursor(cursor.offset, fingerprint(request), generation, "")
    more = len(runs) > cursor.offset + request.limit
    page = build_page(rows, envelope, context.caller.budget.of("preview"), here, more=more)
    payload = {"results": list(page.rows), **envelope, "count": len(page.rows), **page.ending}
    return Answer(
        payload | {"next_cursor": page.next_cursor},
        "preview",
        len(page.rows),
        page.tokens,
        (*cursor.moved(generation, ""), *repeats.warnings),
        noted={"cursors": int(request.cursor is not None)},
        charged_text={key: size for row in page.rows for key, size in _charged_text(row).items()},
    )


@dataclass
class _Repeats:
    """The search for repeated text in these documents."""

    context: RequestContext
    filters: Filters
    documents: Sequence[Document]
    read: int = 0
    characters: int = 0
    why: str = ""

    def find(self, min_chars: int) -> list[_ParagraphRun]:
        """The maximal runs of at least ``min_chars`` that stand in several places, the largest first."""
        slots = self._fill_slots()
        repeated = self._collect(slots)
        runs = [run for run in _join(repeated) if run.chars >= min_chars]
        return sorted(runs, key=lambda run: run.order)

    def locate(self, runs: Sequence[_ParagraphRun]) -> None:
        """Add the text and the first places of each run."""
        by_first = {run.digests[0]: run for run in runs}
        wanted = len(by_first)
        for document, text in self._texts() if by_first else ():
            layout: _Layout | None = None
            for run, start, end in _find_runs(by_first, text):
                run.text = run.text or text[start : min(end, start + 2 * MAX_REPEAT_CHARS)]
                if layout is None:
                    layout = _Layout(document, self.context.index.catalogue)
                run.places.append(layout.locate(start, end))
                wanted -= len(run.places) in (MAX_PLACES, run.copies)
            if not wanted:
                return

    @property
    def extent(self) -> dict[str, Any]:
        """The extent of what was compared."""
        return {
            "scanned": {"documents": self.read, "characters": self.characters},
            "complete": self.read == len(self.documents) and not self.why,
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if not all documents were compared."""
        return (_STOPPED.format(read=self.read, all=len(self.documents), why=self.why),) if self.why else ()

    def _fill_slots(self) -> bytearray:
        """Count the paragraphs of each slot: 0, 1 or more. Ends early if the time does not suffice.

        Raises ``WinnowError("TIMEOUT")`` if it does not suffice for the first document.
        """
        slots = bytearray(_SLOTS)
        deadline = current_deadline()
        least = (1 - _FIRST_SHARE) * deadline.remaining()
        self.read = len(self.documents)
        for read, (document, text) in enumerate(self._texts()):
            for number, paragraph in enumerate(iterate_paragraphs(text)):
                if number % _LOOK_EVERY == 0 and deadline.remaining() < least:
                    self._stop(read, document)
                    return slots
                slot = _slot_of(paragraph.digest)
                slots[slot] = min(2, slots[slot] + 1)
        return slots

    def _stop(self, read: int, document: Document) -> None:
        if read == 0:
            raise WinnowError("TIMEOUT", _TOO_LONG.format(name=document.uri[:200]))
        self.read, self.why = read, "the time of this call would not suffice for more"

    def _collect(self, slots: bytearray) -> dict[bytes, _Repeated]:
        """The paragraphs whose slot has several, with what stands beside them."""
        repeated: dict[bytes, _Repeated] = {}
        for number, (_, text) in enumerate(self._texts(), 1):
            self.characters += len(text)
            for before, paragraph, after in _with_neighbours(_in_time(text)):
                if slots[_slot_of(paragraph.digest)] > 1:
                    self._add(repeated, before, paragraph, after)
            if self.why and len(repeated) >= _MOST_REPEATED:
                self.read = number
                break
        return {digest: one for digest, one in repeated.items() if one.copies > 1}

    def _add(
        self, repeated: dict[bytes, _Repeated], before: bytes | None, paragraph: Paragraph, after: bytes | None
    ) -> None:
        """Note a paragraph. Beyond the bound, only those that are known already: the rest ends the runs."""
        one = repeated.get(paragraph.digest)
        if one is None:
            if len(repeated) >= _MOST_REPEATED:
                self.why = f"they have more than {_MOST_REPEATED:,} repeated paragraphs"
                return
            one = repeated[paragraph.digest] = _Repeated()
        one.add(before, after, paragraph.end - paragraph.start)

    def _texts(self) -> Iterator[tuple[Document, str]]:
        for document in self.documents[: self.read]:
            check_deadline()
            text = self.context.index.catalogue.text(document.id, self.filters.project)
            yield document, text or ""


def _in_time(text: str) -> Iterator[Paragraph]:
    """The paragraphs of a text. Raises ``WinnowError("TIMEOUT")`` when the time of the call is up."""
    for number, paragraph in enumerate(iterate_paragraphs(text)):
        if number % _LOOK_EVERY == 0:
            check_deadline()
        yield paragraph


def _with_neighbours(
    paragraphs: Iterator[Paragraph],
) -> Iterator[tuple[bytes | None, Paragraph, bytes | None]]:
    """Each paragraph with the digests of those before and after it, None at the ends of the text."""
    before: bytes | None = None
    here = next(paragraphs, None)
    while here is not None:
        after = next(paragraphs, None)
        yield before, here, None if after is None else after.digest
        before, here = here.digest, after


def _find_runs(by_first: Mapping[bytes, _ParagraphRun], text: str) -> Iterator[tuple[_ParagraphRun, int, int]]:
    """The runs in a text that have room for a place, with their first and last characters.

    No two runs share a paragraph, so one is finished before the next one begins.
    """
    run, start, missing = None, 0, 0
    for paragraph in _in_time(text):
        found = by_first.get(paragraph.digest)
        if found is not None and len(found.places) < MAX_PLACES:
            run, start, missing = found, paragraph.start, len(found.digests)
        missing -= 1
        if run is not None and missing == 0:
            yield run, start, paragraph.end
            run = None


def _slot_of(digest: bytes) -> int:
    return int.from_bytes(digest[:4], "big") % _SLOTS


def _join(repeated: dict[bytes, _Repeated]) -> Iterator[_ParagraphRun]:
    """The maximal runs: chains of paragraphs of which each always stands beside the next."""
    following = {digest: _next_of(digest, one, repeated) for digest, one in repeated.items()}
    inner = {after for after in following.values() if after is not None}
    for digest, one in repeated.items():
        if digest in inner:
            continue
        chain, after, chars = [digest], following[digest], one.chars
        while after is not None:
            chain.append(after)
            chars += repeated[after].chars
            after = following[after]
        yield _ParagraphRun(tuple(chain), one.copies, chars)


def _next_of(digest: bytes, one: _Repeated, repeated: dict[bytes, _Repeated]) -> bytes | None:
    """The paragraph that always stands after this one, and before which only this one stands."""
    after = repeated.get(one.after) if one.after else None
    is_joined = after is not None and after.before == digest and after.copies == one.copies
    return one.after if is_joined and one.after != digest else None


def _charged_text(row: Any) -> text_charges.ChargedText:
    """The text of a row, which a run is charged for as text of the first document that has it."""
    return text_charges.piece(row["places"][0]["document_id"], row["text"]) if row["places"] else {}


def _build_row(run: _ParagraphRun) -> dict[str, Any]:
    text = shorten(printable(run.text[: 2 * MAX_REPEAT_CHARS]), MAX_REPEAT_CHARS)
    return {"text": text, "chars": run.chars, "copies": run.copies, "places": run.places}


_KB_REPEATS_DOC = """\
Text that stands in several places: whole paragraphs and runs of them, the largest first.

    for row in repeats(min_chars=300, path="guides/*"):
        print(row.copies, row.chars, row.text[:80], [place["file"] for place in row.places])

min_chars: the least length, 20 to 100,000. Copies are equal except for white space; a run ends where they
differ. row.places: document_id, file, passage_id, start and end of the first 50; with page_span, page_labels,
locator and link for files that have pages or the like. row.copies counts all. The rest as in documents;
`page.complete` is False if time ran out before all text was compared.
"""
KB_REPEATS = Operation(
    "kb.repeats",
    FindRepeats,
    find_repeats,
    script=Script(
        "min_chars * path where filters scope limit cursor",
        _KB_REPEATS_DOC,
        name="repeats",
    ),
)
