"""A walk through all text in scope: document after document, within the time of its call.

A walk that runs out of time stops before a document, never within one, so that what was counted is true of the
documents before and the next walk can go on from there.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from winnow.server.bibliographies.locators import work_fields
from winnow.server.errors import WinnowError
from winnow.server.models import ChunkSpan, DocumentText, ExcludedText, Filters, NeededTexts, Place
from winnow.server.operations.base import RequestContext
from winnow.server.operations.corpus.patterns import Match, Pattern, TextMatch
from winnow.server.runtime.deadlines import check_deadline, current_deadline
from winnow.server.text.forms.splicing import SplicedText, compose, may_compose
from winnow.server.text.quotes.finding import QuoteMatch, find_phrase
from winnow.server.text.quotes.sources import SourceText

# A walk takes at most so many seconds, and so much of what its call has left: a script goes on after it.
_SECONDS, _SHARE = 10.0, 0.6
# A walk that ends where another one did may take longer than that one, so that it gets as far.
_AGAIN = 1.4
_LOOK_EVERY = 8  # matches between two looks at the clock


class OutOfTime(Exception):
    """The time of the walk has passed within a document."""


class PlacedMatch(NamedTuple):  # made for each match: a frozen dataclass takes four times as long
    """A match, its place in characters, and the number of its chunk (None without chunks)."""

    match: Match
    start: int
    end: int
    chunk: int | None


@dataclass
class ScannedDocument:
    """A document of a walk, with what its matches need."""

    document: DocumentText
    read_spans: Callable[[str], list[ChunkSpan]]
    read_places: Callable[[str], tuple[Place, ...]]
    read_metadata: Callable[[str], Mapping[str, Any]]
    is_composed: bool = True

    @cached_property
    def is_ascii(self) -> bool:
        return self.document.data.isascii()

    @cached_property
    def composed(self) -> SplicedText | None:
        """The text in one form of Unicode; None where it is in that form already."""
        if not (self.is_composed and may_compose(self.document.data)):
            return None
        found = compose(self._text)
        return found if len(found.starts) > 1 else None

    @cached_property
    def searched(self) -> bytes:
        """The text that patterns are matched over, in UTF-8."""
        return self.composed.text.encode() if self.composed else self.document.data

    @property
    def length(self) -> int:
        """The number of characters."""
        return len(self.document.data) if self.is_ascii else len(self._text)

    @cached_property
    def chunks(self) -> list[ChunkSpan]:
        return self.read_spans(self.document.id)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        return self.read_places(self.document.id)

    @cached_property
    def work(self) -> Mapping[str, Any]:
        """The fields of a row for the work that the document is."""
        return work_fields(self.read_metadata(self.document.id))

    @cached_property
    def _text(self) -> str:
        return self.document.data.decode()

    @cached_property
    def _ends(self) -> Sequence[int]:
        return list(accumulate((chunk.end for chunk in self.chunks), max))

    def decode(self, span: tuple[int, int]) -> str | None:
        """The text of a span of bytes of ``searched``; None for a group without part in the match."""
        return None if span[0] < 0 else self.searched[span[0] : span[1]].decode()

    def characters(self, start: int, end: int) -> str:
        """The text between two offsets in characters."""
        return self.document.data[start:end].decode() if self.is_ascii else self._text[start:end]

    @property
    def text(self) -> str:
        """The whole text."""
        return self._text

    def searched_span(self, start: int, end: int) -> tuple[int, int]:
        """The bytes of ``searched`` for characters of the text."""
        before, within = self._text[:start], self._text[start:end]
        if self.composed:
            before, within = compose(before).text, compose(within).text
        first = len(before.encode())
        return first, first + len(within.encode())

    def chunk_at(self, start: int) -> int | None:
        """The number of the chunk of this character: the first of overlapping ones.

        Between chunks it is the following one, after the last one the last.
        """
        ends = self._ends
        return min(bisect_right(ends, start), len(ends) - 1) if ends else None


def _merge(
    scanned: ScannedDocument, found: Sequence[PlacedMatch], seen: Sequence[QuoteMatch]
) -> Iterator[PlacedMatch]:
    """The matches in the text as it is, and those in the text as it is seen that none of the first is part of."""
    ends = [each.end for each in found]
    others = []
    for place in seen:
        following = bisect_right(ends, place.start)
        if following < len(found) and found[following].start < place.end:
            continue
        span = TextMatch(*scanned.searched_span(place.start, place.end))
        others.append(PlacedMatch(span, place.start, place.end, scanned.chunk_at(place.start)))
    yield from sorted((*found, *others), key=lambda each: each.start)


@dataclass
class Walk:
    """A walk from document number ``first`` on, up to number ``last`` (0: to the end).

    ``needed`` is what a text must hold to be looked through; others count as looked through where an index rules
    them out. ``next`` is the number of the first document that was not looked through; ``is_complete``: there is
    none.
    """

    context: RequestContext
    filters: Filters
    first: int = 0
    last: int = 0
    needed: NeededTexts = ()
    next: int = field(init=False)
    documents: int = 0
    passages: int = 0
    characters: int = 0
    is_complete: bool = False
    until: float = field(init=False)

    def __post_init__(self) -> None:
        self.next = self.first
        seconds = min(_SECONDS, _SHARE * current_deadline().remaining()) * (_AGAIN if self.last else 1.0)
        self.until = time.monotonic() + seconds

    def run(self, look: Callable[[ScannedDocument], None]) -> None:
        """Have ``look`` look through each document; it raises ``OutOfTime`` and keeps nothing of that document.

        Raises:
            WinnowError: TIMEOUT if the first document takes all the time.
        """
        catalogue = self.context.index.catalogue
        with closing(catalogue.texts_within(self.filters, self.first, self.needed)) as documents:
            for document in documents:
                check_deadline()
                if self.last and document.number >= self.last:
                    return
                if self.documents and self._is_over():
                    return
                if isinstance(document, ExcludedText):
                    self._count(document.number, document.chunks, document.characters)
                    continue
                scanned = ScannedDocument(document, catalogue.spans, catalogue.places, catalogue.metadata)
                try:
                    look(scanned)
                except OutOfTime:
                    self._require_progress(document)
                    return
                self._count(document.number, document.chunks, scanned.length)
        self.is_complete = not self.last

    def matches(self, scanned: ScannedDocument, pattern: Pattern) -> Iterator[PlacedMatch]:
        """The matches in a document, in order. Raises ``OutOfTime``."""
        found = self._found(scanned, pattern)
        if not pattern.phrase:
            yield from found
            return
        seen = find_phrase(pattern.phrase, SourceText(scanned.text), case=pattern.is_cased)
        yield from _merge(scanned, list(found), seen)

    def _found(self, scanned: ScannedDocument, pattern: Pattern) -> Iterator[PlacedMatch]:
        """The matches of the pattern itself."""
        byte = character = 0
        scanned.is_composed = pattern.is_composed
        data, composed = scanned.searched, scanned.composed
        is_ascii = data.isascii() and composed is None
        for number, match in enumerate(pattern.find(data)):
            if number % _LOOK_EVERY == 0 and self._is_over():
                raise OutOfTime
            if match is None:
                continue
            start, end = match.span()
            if is_ascii:
                yield PlacedMatch(match, start, end, scanned.chunk_at(start))
                continue
            character += len(data[byte:start].decode())
            after = character + len(data[start:end].decode())
            first, last = composed.span(character, after) if composed else (character, after)
            yield PlacedMatch(match, first, last, scanned.chunk_at(first))
            byte, character = end, after

    def _is_over(self) -> bool:
        return time.monotonic() >= self.until

    def _count(self, number: int, passages: int, characters: int) -> None:
        self.next = number + 1
        self.documents += 1
        self.passages += passages
        self.characters += characters

    def _require_progress(self, document: DocumentText) -> None:
        if self.documents == 0:
            raise WinnowError(
                "TIMEOUT",
                f"the pattern takes more than {_SECONDS:.0f} s in the document {document.uri[:200]!r} alone; use "
                "a pattern that is more specific, or leave the document out with path",
            )

    @property
    def scanned(self) -> dict[str, int]:
        """The extent of what was looked through, for the answer."""
        return {"documents": self.documents, "passages": self.passages, "characters": self.characters}
