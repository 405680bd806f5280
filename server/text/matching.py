"""The rules of filters: globs and prefixes of paths, labels in any spelling, values of fields as text. Pure."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from winnow.server.text.forms.normal_forms import normalize

_GLOB = re.compile(r"[*?\[]")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")


def is_glob(pattern: str) -> bool:
    """Whether this is a glob; otherwise it is a plain prefix."""
    return _GLOB.search(pattern) is not None


def literal_head(pattern: str) -> str:
    """The text before the first special character: every path that matches begins with it."""
    special = _GLOB.search(pattern)
    return pattern[: special.start()] if special else pattern


@lru_cache(maxsize=64)
def path_matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a path matches: a glob as ``fnmatch.fnmatchcase`` (``*`` crosses "/"), any other text as a prefix.

    >>> path_matcher("tasks_*.md")("tasks_run.md"), path_matcher("tasks")("tasks/run.md")
    (True, True)
    """
    if not is_glob(pattern):
        return lambda path: path.startswith(pattern)
    compiled = re.compile(fnmatch.translate(pattern))  # its groups are atomic: no exponential time
    return lambda path: compiled.match(path) is not None


def field_texts(value: Any) -> tuple[str, ...]:
    """The texts of a field's value, by which it is compared: those of its items if it is a list.

    >>> field_texts(["Beta", 2, True])
    ('Beta', '2', 'true')
    """
    match value:
        case list() | tuple():
            return tuple(text for item in value for text in field_texts(item))
        case bool():
            return ("true" if value else "false",)
        case float() if value.is_integer():
            return (str(int(value)),)
        case None:
            return ()
        case _:
            return (str(value),)


def field_numbers(value: Any) -> tuple[float, ...]:
    """The numbers of a field's value, also those in texts of digits; those of its items if it is a list.

    >>> field_numbers([2019, "2020", "c. 1800", True])
    (2019, 2020.0)
    """
    match value:
        case list() | tuple():
            return tuple(number for item in value for number in field_numbers(item))
        case bool():
            return ()
        case int() | float():
            return (value,)
        case str() if _NUMBER.fullmatch(value):
            return (float(value),)
        case _:
            return ()


def fold_label(text: str) -> str:
    r"""The form by which labels are compared: without case and outer spaces, one space between words, in NFC.

    >>> fold_label(" Cafe\u0301  NOIR ") == "caf\u00e9 noir"
    True
    """
    folded = text if text.isascii() else normalize("NFC", text)
    folded = " ".join(folded.casefold().split())
    return folded if folded.isascii() else normalize("NFC", folded)


def find_spellings(known: Iterable[str], label: str) -> tuple[str, ...]:
    """The known labels that are this one, however they are spelled."""
    folded = fold_label(label)
    return tuple(sorted(each for each in known if fold_label(each) == folded))
