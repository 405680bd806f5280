"""Ignore files: ``.gitignore`` and ``.winnowignore``, with the patterns and the precedence of git.

A pattern counts for the folder of its file and everything below; a deeper file outranks a higher one, and
``.winnowignore`` outranks ``.gitignore`` of the same folder. What is in an ignored folder cannot be admitted
again. Ignore files above a source count where git would read them: down from the folder that holds ``.git``.

Patterns may come from strangers: they are matched in linear time (re2), and their number and length are bounded.
An ignore file that cannot be read makes its folder unreadable, because it may name what must not be indexed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

import re2  # type: ignore[import-untyped]
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from winnow.server.ingest.selection.file_rules import FileRules
from winnow.server.readers.bounded_files import read_whole
from winnow.server.readers.documents import UnreadableFile, reason_of

# In order of precedence, the strongest last.
IGNORE_FILES = (".gitignore", ".winnowignore")
_MIB = 1024 * 1024
# Longer lines are no patterns; files with more lines are refused.
_LINE_CHARS, _MOST_LINES = 1_000, 10_000
_REPOSITORY = ".git"
# Parts of the library's expressions for patterns.
_FOLDER = "(?P<ps_d>/)"
_FOLDER_OR_FILE = f"(?:{_FOLDER}|$)"


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern as a regular expression, and whether what matches it is ignored or admitted again."""

    source: str
    ignores: bool


@dataclass(frozen=True, slots=True)
class _PatternSet:
    """Patterns that are matched together, and for each of them whether it ignores."""

    patterns: re2.Set
    ignores: tuple[bool, ...]

    def decide(self, path: str) -> bool | None:
        """The verdict of the last pattern that matches; None if none does."""
        matched = self.patterns.Match(path)
        return self.ignores[max(matched)] if matched else None


class PatternList:
    """The patterns of one ignore file; the last one that matches a path decides."""

    def __init__(self, lines: Sequence[str]) -> None:
        patterns = [pattern for line in lines if (pattern := _read_pattern(line))]
        self._sets = tuple(_compile(patterns))

    def decide(self, path: str) -> bool | None:
        """Whether the patterns ignore the path; None if none matches it. A folder's path ends with a slash.

        A file in an ignored folder does not match for that: who walks through folders does not enter ignored ones.
        """
        shown = path.encode("utf-8", "replace").decode("utf-8")  # re2 takes no surrogates
        verdicts = (each.decide(shown) for each in self._sets)
        return next((verdict for verdict in verdicts if verdict is not None), None)


def _read_pattern(line: str) -> _Pattern | None:
    """The pattern of a line; None for a comment, a blank line or an invalid pattern, as in git."""
    if len(line) > _LINE_CHARS:
        return None
    try:
        source, ignores = GitIgnoreSpecPattern.pattern_to_regex(line)
    except ValueError:
        return None
    if not isinstance(source, str) or ignores is None:
        return None
    # The library's expressions match a folder and everything in it; these match the folder alone.
    source = source.replace(_FOLDER_OR_FILE, "/?$").replace(_FOLDER, "/$")
    return _Pattern(source + "." if source.endswith("/") else source, ignores)


def _compile(patterns: Sequence[_Pattern]) -> Iterator[_PatternSet]:
    """The patterns in as few sets as re2 has memory for, the last first; a pattern that it refuses is left out."""
    if not patterns:
        return
    try:
        together = re2.Set.SearchSet()
        for pattern in patterns:
            together.Add(pattern.source)
        together.Compile()
        yield _PatternSet(together, tuple(pattern.ignores for pattern in patterns))
    except (re2.error, UnicodeError):
        half = len(patterns) // 2
        if half:
            yield from _compile(patterns[half:])
            yield from _compile(patterns[:half])


@lru_cache(maxsize=256)
def _patterns_of(text: str) -> PatternList:
    lines = text.splitlines()
    if len(lines) > _MOST_LINES:
        raise UnreadableFile(f"more than {_MOST_LINES:,} lines")
    return PatternList(lines)


def check_patterns(patterns: Sequence[str]) -> list[str]:
    """Those of the patterns that are none."""
    return [pattern for pattern in patterns if not (one := _read_pattern(pattern)) or not list(_compile([one]))]


@dataclass(frozen=True, slots=True)
class FolderRules:
    """The rules in force in one folder: pattern lists with the folder (ending with a slash) of each."""

    lists: tuple[tuple[str, PatternList], ...]
    include: PatternList | None
    exclude: PatternList
    source: str
    ignore_files: bool

    def enter(self, folder: str, names: Collection[str]) -> FolderRules:
        """The rules in a folder with these files. Raises ``UnreadableFile`` if an ignore file cannot be read."""
        found = [name for name in IGNORE_FILES if name in names] if self.ignore_files else []
        if not found:
            return self
        base = _with_slash(folder)
        lists = self.lists + tuple((base, _read_ignore_file(Path(folder, name))) for name in found)
        return FolderRules(lists, self.include, self.exclude, self.source, self.ignore_files)

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Whether a file or folder in this folder is left out."""
        end = "/" if is_folder else ""
        below = path.removeprefix(self.source) + end
        if self.exclude.decide(below):
            return True
        if self.include and not is_folder and not _has_match(self.include, below):
            return True
        verdicts = (patterns.decide(path.removeprefix(base) + end) for base, patterns in reversed(self.lists))
        return bool(next((verdict for verdict in verdicts if verdict is not None), None))


def _has_match(patterns: PatternList, path: str) -> bool:
    """Whether the patterns match a file or a folder above it; of the longest path that matches, what it says."""
    folders = [f"{folder}/" for folder in PurePosixPath(path).parents if folder.name]
    verdicts = (patterns.decide(each) for each in (path, *folders))
    return bool(next((verdict for verdict in verdicts if verdict is not None), None))


def rules_of(source: Path, rules: FileRules) -> FolderRules:
    """The rules above a source, which is a folder. Raises ``UnreadableFile`` as ``FolderRules.enter`` does."""
    include = PatternList(rules.include) if rules.include else None
    in_force = FolderRules((), include, PatternList(rules.exclude), _with_slash(str(source)), rules.ignore_files)
    for folder in _folders_above(source) if rules.ignore_files else ():
        in_force = in_force.enter(str(folder), _ignore_files_in(folder))
    return in_force


def rules_down_to(source: Path, below: Path, rules: FileRules) -> Iterator[tuple[Path, FolderRules]]:
    """Each path from the source's children down to ``below``, with the rules of the folder that it is in.

    Raises ``UnreadableFile`` as ``FolderRules.enter`` does.
    """
    in_force, folder = rules_of(source, rules), source
    for part in below.parts:
        in_force = in_force.enter(str(folder), _ignore_files_in(folder))
        folder /= part
        yield folder, in_force


def _ignore_files_in(folder: Path) -> list[str]:
    return [name for name in IGNORE_FILES if os.path.lexists(folder / name)]


def _folders_above(source: Path) -> Sequence[Path]:
    """The folders of the source's repository that are above it, the highest first; none outside a repository."""
    if (source / _REPOSITORY).exists():
        return ()
    above = list(source.parents)
    depth = next((number for number, folder in enumerate(above) if (folder / _REPOSITORY).exists()), -1)
    return above[depth::-1] if depth >= 0 else ()


def _read_ignore_file(path: Path) -> PatternList:
    try:
        return _patterns_of(read_whole(path, _MIB).decode("utf-8-sig", "replace"))
    except (OSError, UnreadableFile) as error:
        raise UnreadableFile(
            f"nothing in it is read, because its {path.name} cannot be read: {reason_of(error)}"
        ) from None


def _with_slash(folder: str) -> str:
    return folder.rstrip("/") + "/"
