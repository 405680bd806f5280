"""The gazetteer: names, aliases and patterns that the user lists in ``entities.toml``, matched in text.

Names and aliases match whole words, in any case; patterns are regular expressions. The ``regex`` library has time
limits: a pattern that takes longer than ``PATTERN_SECONDS`` on a document is skipped for that document, with a
warning.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import regex  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from winnow.server.errors import WinnowError, own_words
from winnow.server.readers.extraction.names import entity_key

# 10,000 names are about a megabyte.
MAX_FILE_BYTES = 2 * 1024 * 1024
# A well-formed pattern searches a megabyte in milliseconds.
PATTERN_SECONDS = 1.0
_MAX_MATCHES = 1000  # of one pattern in one document
_TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_")
# Scripts without spaces between words: a name matches as a substring.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")

EntityName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
Type = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class _EntityTable(_StrictModel):
    name: EntityName
    type: Type = "term"
    aliases: Annotated[tuple[EntityName, ...], Field(max_length=100)] = ()
    patterns: Annotated[tuple[Pattern, ...], Field(max_length=20)] = ()


class _PatternTable(_StrictModel):
    type: Type
    pattern: Pattern


class _GazetteerFile(_StrictModel):
    entity: Annotated[tuple[_EntityTable, ...], Field(max_length=10_000)] = ()
    pattern: Annotated[tuple[_PatternTable, ...], Field(max_length=100)] = ()


@dataclass(frozen=True, slots=True)
class GazetteerEntry:
    """An entity that the user listed. ``alias`` is the alias that this entry matches, "" for the name itself."""

    name: str
    type: str
    alias: str = ""


@dataclass(frozen=True, slots=True)
class GazetteerMatch:
    """A match of an entry at [start, end); ``is_pattern`` if a pattern matched."""

    entry: GazetteerEntry
    start: int
    end: int
    is_pattern: bool = False


@dataclass(frozen=True, slots=True)
class _PatternRule:
    """A compiled pattern for ``entry``; if ``entry.name`` is "", every matched text is an entity of its own."""

    entry: GazetteerEntry
    pattern: regex.Pattern


@dataclass(frozen=True, slots=True)
class Gazetteer:
    """Names by first word, the longest first; names in unspaced scripts; patterns, and their time limit."""

    by_first: dict[str, list[tuple[tuple[str, ...], GazetteerEntry]]] = field(default_factory=dict)
    unspaced: tuple[tuple[str, GazetteerEntry], ...] = ()
    rules: tuple[_PatternRule, ...] = ()
    pattern_seconds: float = PATTERN_SECONDS

    @property
    def is_empty(self) -> bool:
        return not (self.by_first or self.unspaced or self.rules)

    def find(self, text: str) -> tuple[list[GazetteerMatch], list[str]]:
        """The matches in ``text``, in no particular order, and the patterns that took too long."""
        if self.is_empty:
            return [], []
        matches = [*self._match_words(text), *self._match_substrings(text)]
        slow = []
        for rule in self.rules:
            try:
                matches += _find_matches(rule, text, self.pattern_seconds)
            except TimeoutError:
                slow.append(rule.pattern.pattern)
        return matches, slow

    def _match_words(self, text: str) -> Iterator[GazetteerMatch]:
        if not self.by_first:
            return
        tokens = list(_TOKEN.finditer(text))
        words = [token.group().casefold() for token in tokens]
        position = 0
        while position < len(words):
            entry, length = self._longest_match(words, position)
            if entry:
                yield GazetteerMatch(entry, tokens[position].start(), tokens[position + length - 1].end())
            position += length

    def _longest_match(self, words: Sequence[str], position: int) -> tuple[GazetteerEntry | None, int]:
        for name, entry in self.by_first.get(words[position], ()):
            if tuple(words[position : position + len(name)]) == name:
                return entry, len(name)
        return None, 1

    def _match_substrings(self, text: str) -> Iterator[GazetteerMatch]:
        for name, entry in self.unspaced:
            start = text.find(name)
            while start >= 0:
                yield GazetteerMatch(entry, start, start + len(name))
                start = text.find(name, start + len(name))


NO_GAZETTEER = Gazetteer()


def read_gazetteer(path: Path) -> Gazetteer:
    """Read the gazetteer from a file.

    Raises ``WinnowError("INVALID_REQUEST")`` for a file in another format than docs/graph.md describes, and
    ``OSError``.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        raise _invalid_file(f"it is larger than {MAX_FILE_BYTES // 1024 // 1024} MiB")
    return parse_gazetteer(path.read_text(encoding="utf-8"))


def parse_gazetteer(text: str, pattern_seconds: float = PATTERN_SECONDS) -> Gazetteer:
    """Parse a gazetteer from TOML. Raises ``WinnowError("INVALID_REQUEST")``."""
    try:
        return _build_gazetteer(_GazetteerFile.model_validate(tomllib.loads(text)), pattern_seconds)
    except tomllib.TOMLDecodeError as error:
        raise _invalid_file(f"it is not TOML ({error})") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise _invalid_file(f"{'.'.join(map(str, first['loc']))}: {own_words(first['msg'])}") from None


def _build_gazetteer(file: _GazetteerFile, pattern_seconds: float) -> Gazetteer:
    by_first: dict[str, list[tuple[tuple[str, ...], GazetteerEntry]]] = {}
    unspaced: list[tuple[str, GazetteerEntry]] = []
    rules = [_compile_rule(GazetteerEntry("", table.type), table.pattern) for table in file.pattern]
    for entity in file.entity:
        entry = GazetteerEntry(entity.name, entity.type)
        rules += [_compile_rule(entry, pattern) for pattern in entity.patterns]
        for name in (entity.name, *entity.aliases):
            name_entry = entry if name == entity.name else GazetteerEntry(entity.name, entity.type, name)
            if not entity_key(name):
                raise _invalid_file(f"{name!r} has neither letter nor digit")
            if _UNSPACED.search(name):
                unspaced.append((name, name_entry))
            else:
                words = tuple(_TOKEN.findall(name.casefold()))
                by_first.setdefault(words[0], []).append((words, name_entry))
    for names in by_first.values():
        names.sort(key=lambda pair: (-len(pair[0]), pair[0], pair[1].name))
    return Gazetteer(by_first, tuple(unspaced), tuple(rules), pattern_seconds)


def _compile_rule(entry: GazetteerEntry, pattern: str) -> _PatternRule:
    try:
        return _PatternRule(entry, regex.compile(pattern))
    except regex.error as error:
        raise _invalid_file(f"the pattern {pattern!r} is not a regular expression ({error})") from None


def _find_matches(rule: _PatternRule, text: str, seconds: float) -> list[GazetteerMatch]:
    matches: list[GazetteerMatch] = []
    for match in rule.pattern.finditer(text, timeout=seconds):
        if match.group() and len(matches) < _MAX_MATCHES:
            entry = rule.entry if rule.entry.name else GazetteerEntry(match.group(), rule.entry.type)
            matches.append(GazetteerMatch(entry, match.start(), match.end(), is_pattern=True))
    return matches


def _invalid_file(why: str) -> WinnowError:
    return WinnowError("INVALID_REQUEST", f"entities.toml cannot be used: {why}; docs/graph.md describes it")
