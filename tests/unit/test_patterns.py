"""No pattern of the server or of the SDK takes time that doubles with each character of a text."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from winnow import client_sdk, server

# Scripts that have letters and marks, and signs of markup.
_CHARS = "".join(chr(code) for code in (*range(0x20, 0x1100), *range(0x2000, 0x2400), *range(0x3000, 0x3100)))
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")


def _patterns() -> Mapping[str, re.Pattern[str]]:
    found = {}
    packages = [pkgutil.walk_packages(each.__path__, f"{each.__name__}.") for each in (client_sdk, server)]
    for module in chain.from_iterable(packages):
        if module.name.endswith(".__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for number, each in enumerate(_held(value)):
                if isinstance(each, re.Pattern) and isinstance(each.pattern, str):
                    found[f"{module.name}.{name}[{number}]"] = each
    return found


def _held(value: Any) -> Sequence[Any]:
    if isinstance(value, Mapping):
        value = tuple(value.values())
    return value if isinstance(value, tuple | list) else (value,)


def find_overlaps(pattern: str, flags: int = 0) -> list[str]:
    """Alternatives of one character each that share one, in a repetition that takes any of them back."""
    return list(_overlaps(_parser.parse(pattern, flags), flags))


def _overlaps(nodes: Any, flags: int, *, repeated: bool = False) -> Iterator[str]:
    for code, value in nodes:
        kind = str(code)
        if kind == "BRANCH":
            if repeated and len(nodes) == 1:
                single = [_sign(each, flags) for each in value[1] if len(each) == 1]
                taken = [set(filter(each.fullmatch, _CHARS)) for each in single if each]
                yield from (f"both match {min(a & b)!r}" for a, b in combinations(taken, 2) if a & b)
            for each in value[1]:
                yield from _overlaps(each, flags)
        elif kind in _REPEATS:
            yield from _overlaps(value[2], flags, repeated=value[1] > 16)
        elif kind == "POSSESSIVE_REPEAT":
            yield from _overlaps(value[2], flags)
        elif kind == "SUBPATTERN":
            yield from _overlaps(value[3], flags, repeated=repeated and len(nodes) == 1)
        elif kind in ("ASSERT", "ASSERT_NOT"):
            yield from _overlaps(value[1], flags)
        elif kind == "ATOMIC_GROUP":
            yield from _overlaps(value, flags)


def _sign(node: Any, flags: int) -> re.Pattern[str] | None:
    """The pattern of a node for one character; None for other nodes."""
    code, value = node[0]
    if str(code) not in ("IN", "LITERAL", "NOT_LITERAL"):
        return None
    state = _parser.State()
    state.flags, state.str = flags | re.UNICODE, ""
    return re._compiler.compile(_parser.SubPattern(state, [(code, value)]), state.flags)  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(
    "pattern", [r"(?:[^\s]|[a-z])+x", r"((?:[^\W\d]|[\u0900-\u0963])+)$", r"(?:[^x]|y){2,99}!"]
)
def test_alternatives_that_share_a_character_are_found(pattern: str) -> None:
    assert find_overlaps(pattern)
    assert not find_overlaps(re.sub(r"(?<=\))(?:\+|\{2,99\})", "++", pattern, count=1))


def test_no_pattern_repeats_alternatives_that_share_a_character() -> None:
    overlaps = {name: find_overlaps(each.pattern, each.flags) for name, each in _patterns().items()}
    assert {name: found for name, found in overlaps.items() if found} == {}
    assert len(overlaps) > 300
