"""What an answer has to hold, and whether it does. Nothing here knows how an answer was found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from server.bench.tokens.collection import TaskCollection
from server.bench.tokens.task import BenchmarkTask, Oracle
from server.errors import WinnowError

_HEADING = re.compile(r"#{1,6} ")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Expected:
    """What must stand in an answer: all ``names``. ``count``: a script says how many they are instead."""

    names: tuple[str, ...]
    count: bool = False
    exact: bool = False


def find_expected(task: BenchmarkTask, collection: TaskCollection) -> Expected:
    """The gold of a task, as the collection has it.

    Raises ``WinnowError("INVALID_REQUEST")`` where that is nothing: such a task would be solved by every answer.
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
    """The names that an oracle finds in texts by their file names: each once, sorted."""
    found: set[str] = set()
    for file, text in sources.items():
        if fnmatchcase(file, oracle.files):
            for part in split_text(text, oracle.split):
                if _is_counted(part, oracle):
                    found.update(_take_names(oracle, file, part))
    return sorted(found)


def _is_counted(part: str, oracle: Oracle) -> bool:
    has = all(re.search(pattern, part, re.MULTILINE) for pattern in oracle.having)
    return has and not any(re.search(pattern, part, re.MULTILINE) for pattern in oracle.lacking)


def _take_names(oracle: Oracle, file: str, part: str) -> Iterator[str]:
    if oracle.take == "file":
        yield PurePosixPath(file).stem
    else:
        yield from (match[1] for match in re.finditer(oracle.take, part, re.MULTILINE) if match[1])


def split_text(text: str, split: str) -> Sequence[str]:
    """A text whole, by lines, or by sections: each from its heading to the next, and what is before the first."""
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
    """Whether a text has a name in it, as words of its own, whatever the case and the white space."""
    words = r"\s+".join(map(re.escape, name.split()))
    return re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None


def find_missing(expected: Expected, text: str) -> list[str]:
    """What of the gold does not stand in a text, for someone who reads it."""
    return [name for name in expected.names if not contains_name(text, name)]


def find_missing_in_result(expected: Expected, result: Any) -> list[str]:
    """What of the gold a script's result does not say; where it has to be exact, also what it says beyond."""
    said = "\n".join(iter_texts(result))
    if expected.count:
        number = str(len(expected.names))
        return [] if contains_name(said, number) else [number]
    missing = find_missing(expected, said)
    if expected.exact:
        named = {one.strip().casefold() for one in re.split(r"[,\n]", said)} - {""}
        missing += [f"not {name}" for name in sorted(named - {name.casefold() for name in expected.names})]
    return missing


def iter_texts(value: Any) -> Iterator[str]:
    """Every text and number in plain data, and the names of its fields, which may be a script's own data."""
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
    """What of the gold a transcript or script already has in it, though the question does not say it."""
    written = "\n".join(
        text for steps in task.steps.values() for step in steps for text in iter_texts(step.arguments)
    )
    written += "\n".join(
        pattern for steps in task.steps.values() for step in steps for pattern in step.keep.values()
    )
    names = (str(len(expected.names)),) if expected.count else expected.names
    return [name for name in names if contains_name(written, name) and not contains_name(question, name)]
