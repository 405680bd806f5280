"""The gold of a task, and whether an answer contains it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from winnow.server.commands.token_benchmark.collection import TaskCollection
from winnow.server.commands.token_benchmark.task import BenchmarkTask, Oracle
from winnow.server.errors import WinnowError

_HEADING = re.compile(r"#{1,6} ")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Expected:
    """The required content of an answer: all ``names``, or for a script with ``count`` their number."""

    names: tuple[str, ...]
    count: bool = False
    exact: bool = False


def find_expected(task: BenchmarkTask, collection: TaskCollection) -> Expected:
    """The gold of a task, looked up in its collection.

    Raises ``WinnowError("INVALID_REQUEST")`` if it is empty: every answer would solve such a task.
    """
    gold = task.gold
    names = [*gold.strings]
    if gold.documents:
        names += [*collection.relevant(task.query), *collection.answers(task.query)]
    if gold.oracle:
        names += names_of(gold.oracle, collection.sources)
    if not names:
        raise WinnowError("INVALID_REQUEST", f"task {task.id!r}: its gold finds nothing in {collection.name}")
    return Expected(tuple(dict.fromkeys(names)), gold.count, gold.exact)


def names_of(oracle: Oracle, sources: Mapping[str, str]) -> list[str]:
    """The distinct names that an oracle finds in the sources, sorted."""
    names: set[str] = set()
    for file, text in sources.items():
        if fnmatchcase(file, oracle.files):
            for part in split_text(text, oracle.split):
                if _is_counted(part, oracle):
                    names.update(_take_names(oracle, file, part))
    return sorted(names)


def _is_counted(part: str, oracle: Oracle) -> bool:
    has = all(re.search(pattern, part, re.MULTILINE) for pattern in oracle.having)
    return has and not any(re.search(pattern, part, re.MULTILINE) for pattern in oracle.lacking)


def _take_names(oracle: Oracle, file: str, part: str) -> Iterator[str]:
    if oracle.take == "file":
        yield PurePosixPath(file).stem
    else:
        yield from (match[1] for match in re.finditer(oracle.take, part, re.MULTILINE) if match[1])


def split_text(text: str, split: str) -> Sequence[str]:
    """The text itself, its lines, or its sections, including the text before the first heading."""
    if split == "file":
        return (text,)
    lines = text.splitlines()
    return lines if split == "line" else _sections(lines)


def _sections(lines: Sequence[str]) -> list[str]:
    sections: list[list[str]] = [[]]
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        elif not fence and _HEADING.match(line):
            sections.append([])
        sections[-1].append(line)
    return ["\n".join(section) for section in sections if section]


def contains_name(text: str, name: str) -> bool:
    """Whether a text contains a name as whole words, regardless of case and white space."""
    words = r"\s+".join(map(re.escape, name.split()))
    return re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None


def find_missing(expected: Expected, text: str) -> list[str]:
    """The names of the gold that a text does not contain."""
    return [name for name in expected.names if not contains_name(text, name)]


def find_missing_in_result(expected: Expected, result: Any) -> list[str]:
    """The names that a script's result lacks; with ``exact`` also the names that it should not contain."""
    text = "\n".join(iter_texts(result))
    if expected.count:
        number = str(len(expected.names))
        return [] if contains_name(text, number) else [number]
    missing = find_missing(expected, text)
    if expected.exact:
        named = {name.strip().casefold() for name in re.split(r"[,\n]", text)} - {""}
        missing += [f"not {name}" for name in sorted(named - {name.casefold() for name in expected.names})]
    return missing


def iter_texts(value: Any) -> Iterator[str]:
    """Every text, number and key in plain data; keys may be a script's own data."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from iter_texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from iter_texts(inner)
    elif value is not None:
        yield str(value)


def find_leaks(task: BenchmarkTask, question: str, expected: Expected) -> list[str]:
    """The names of the gold that a transcript or script contains although the question does not."""
    written = "\n".join(
        text for steps in task.steps.values() for step in steps for text in iter_texts(step.arguments)
    )
    written += "\n".join(
        pattern for steps in task.steps.values() for step in steps for pattern in step.keep.values()
    )
    names = (str(len(expected.names)),) if expected.count else expected.names
    return [name for name in names if contains_name(written, name) and not contains_name(question, name)]
