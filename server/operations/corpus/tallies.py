"""Counts of matches: of all of them, and by key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from posixpath import dirname
from typing import Any

from winnow.server.errors import WinnowError
from winnow.server.operations.corpus.matched_text import KEY_CHARS, ShownLength, require_handed_over
from winnow.server.operations.corpus.patterns import Pattern
from winnow.server.operations.corpus.walking import PlacedMatch, ScannedDocument
from winnow.server.text.printable import one_line

MAX_KEYS = 100_000
_MAX_KEY_SIZE = 20_000_000  # characters of all keys, with what each costs beside
_KEY_COST = 100
# Keys that are a path and headings are names, and cut for scripts, too.
_NAMES = ShownLength(None, KEY_CHARS)
_MATCH = "match"
DOCUMENT_KEYS = ("document", "file")  # rows without group_by have the path as `file`

Key = Callable[[ScannedDocument, PlacedMatch], str]


@dataclass(slots=True)
class Tally:
    """Counts of the matches of some documents. Matches must come in the order of their places."""

    matches: int = 0
    passages: int = 0
    documents: int = 0
    _chunk: int | None = None

    def add(self, found: PlacedMatch) -> None:
        """Count a match of a document; ``merge`` counts the document."""
        self.matches += 1
        if found.chunk != self._chunk:
            self.passages += 1
            self._chunk = found.chunk

    def merge(self, other: Tally) -> None:
        """Add the counts of one more document."""
        self.matches += other.matches
        self.passages += other.passages
        self.documents += other.matches > 0

    def to_dict(self) -> dict[str, int]:
        """The counts as fields of an answer."""
        return {"matches": self.matches, "passages": self.passages, "documents": self.documents}


@dataclass(slots=True)
class KeyedTallies:
    """Counts by key, within a bound of memory."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    _size: int = 0

    def of(self, key: str) -> Tally:
        """The counts of a key. Raises INVALID_REQUEST for too many keys."""
        tally = self.tallies.get(key)
        if tally is None:
            self._size += len(key) + _KEY_COST
            if len(self.tallies) >= MAX_KEYS or self._size > _MAX_KEY_SIZE:
                raise WinnowError(
                    "INVALID_REQUEST",
                    f"group_by: more than {len(self.tallies):,} keys; group by something coarser, such as "
                    "document or a group that takes less of the match, or narrow with path",
                )
            tally = self.tallies[key] = Tally()
        return tally

    def merge(self, other: KeyedTallies) -> None:
        """Add the counts of one more document."""
        for key, tally in other.tallies.items():
            self.of(key).merge(tally)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each key, the most matches first, then by key."""
        ordered = sorted(self.tallies.items(), key=lambda pair: (-pair[1].matches, pair[0]))
        return [{"key": key, **tally.to_dict()} for key, tally in ordered]


def key_of(group_by: str, pattern: Pattern, shown: ShownLength) -> Key:
    """The function that gives the key of a match. Raises INVALID_REQUEST for an unknown group."""
    if group_by in _KEYS:
        return _KEYS[group_by]
    if group_by == _MATCH:
        return lambda scanned, found: _text_key(scanned, found, 0, shown)
    number = (
        int(group_by) if group_by.isdecimal() and len(group_by) < _GROUP_DIGITS else pattern.names.get(group_by)
    )
    if number is None or not 0 <= number <= pattern.groups:
        raise WinnowError("INVALID_REQUEST", f"group_by: {_describe_groups(pattern.names, pattern.groups)}")
    return lambda scanned, found: _text_key(scanned, found, number, shown)


def _text_key(scanned: ScannedDocument, found: PlacedMatch, number: int, shown: ShownLength) -> str:
    """A match or one of its groups as a key. Raises INVALID_REQUEST for one that is too long."""
    key = shown.cut_key(scanned.decode(found.match.span(number)) or "")
    require_handed_over(len(key), "a key", scanned.document.uri, found.start, found.end)
    return key


def is_text_key(group_by: str) -> bool:
    """Whether keys are text of documents: matches or their groups."""
    return group_by not in _KEYS


_GROUP_DIGITS = 4


def _describe_groups(names: Iterable[str], groups: int) -> str:
    named = [one_line(name, 40) for name in names]
    numbered = f"its groups have the numbers 1 to {groups}" if groups else "the pattern has no group ( )"
    also = f", the names {', '.join(named)}" if named else ""
    return f"document, folder, section, match, or a group of the pattern; {numbered}{also}"


def _section_key(scanned: ScannedDocument, found: PlacedMatch) -> str:
    headings = () if found.chunk is None else scanned.chunks[found.chunk].heading_path
    return _NAMES.cut_key(" > ".join((scanned.document.uri, *headings)))


_KEYS: dict[str, Key] = {
    **dict.fromkeys(DOCUMENT_KEYS, lambda scanned, found: scanned.document.uri),
    "folder": lambda scanned, found: dirname(scanned.document.uri) or ".",
    "section": _section_key,
}
