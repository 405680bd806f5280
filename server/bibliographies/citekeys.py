"""Citekeys: which can be cited, those made for works whose bibliography states none, each kept once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from winnow.server.bibliographies.records import Creator, EntryFlaw, LibraryItem
from winnow.server.text.forms.normal_forms import normalize

_NOT_ASCII_WORD = re.compile(r"[^a-z0-9]+")
_SHORT_WORDS = frozenset(
    {"a", "an", "and", "das", "der", "die", "ein", "eine", "le", "la", "les", "of", "on", "the"}
)
_WORD_CHARS = 30
# Signs that end a citation or begin markup in a style: such a key could add a link, a key or a command to a text.
_CITABLE = re.compile(r"[^\s\[\]{}\\<>`\"^]+(?: [^\s\[\]{}\\<>`\"^]+)*")
UNCITABLE = "the key has signs that would end a citation, such as brackets; the work gets another key"
_TWICE = "the key is used twice; the first entry is kept"


def make_citekey(creators: Sequence[Creator], year: int, title: str) -> str:
    """A key from the first family name, the year and the first long word of the title.

    >>> make_citekey([Creator("Müller")], 2019, "The Study of Things")
    'muller2019study'
    """
    words = [word for word in _plain(title).split() if word not in _SHORT_WORDS]
    family = "".join(_plain(creators[0].family).split()) if creators else ""
    word = words[0] if words else ""
    return f"{family[:_WORD_CHARS] or 'anonymous'}{year or ''}{word[:_WORD_CHARS]}"


def is_citable(citekey: str) -> bool:
    """Whether a key can be written in a citation of every style."""
    return _CITABLE.fullmatch(citekey) is not None


def _plain(text: str) -> str:
    """The text in lower case without accents, words of ASCII apart by blanks."""
    letters = normalize("NFKD", text.casefold())
    return _NOT_ASCII_WORD.sub(" ", "".join(sign for sign in letters if not unicodedata.combining(sign)))


def keep_first(items: Iterable[LibraryItem]) -> tuple[list[LibraryItem], list[EntryFlaw]]:
    """The items with each citekey once, and those whose key an item before has, as flaws.

    An item without a key gets one that no other has.
    """
    kept: dict[str, LibraryItem] = {}
    flaws: list[EntryFlaw] = []
    nameless: list[LibraryItem] = []
    for item in items:
        if not item.citekey:
            nameless.append(item)
        elif kept.setdefault(item.citekey, item) is not item:
            flaws.append(EntryFlaw(0, item.citekey, _TWICE))
    taken: dict[str, int] = {}
    for item in nameless:
        key = _free_key(make_citekey(item.creators, item.year, item.title), taken, kept)
        kept[key] = replace(item, key=item.key or key, citekey=key)
    return list(kept.values()), flaws


def _free_key(key: str, taken: dict[str, int], kept: Container[str]) -> str:
    """The key, or the first of ``key-2``, ``key-3``, ... that is free. ``taken`` counts the items of each key."""
    while True:
        taken[key] = number = taken.get(key, 0) + 1
        free = key if number == 1 else f"{key}-{number}"
        if free not in kept:
            return free
