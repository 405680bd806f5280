"""The paragraphs of a text, with digests by which they are compared: in linear time and constant memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

# White space that may end a paragraph, from its first character that is neither a blank nor a tab: a line end that
# no line follows, or white space of another kind with what follows it. The latter ends one only with a line end in
# it, and is matched without, too, so that no white space is read twice.
_BREAK = re.compile(r"[^\S \t](?:(?<=\n)[ \t]*+(?:\s++|\Z)|(?<!\n)\s*+)")
_VISIBLE = re.compile(r"\S")
_DIGEST_BYTES = 12
# A paragraph is divided into words part by part: its words together may take ten times its memory.
_PART_CHARS = 64 * 1024


class Paragraph(NamedTuple):  # made for each paragraph: a frozen dataclass takes four times as long
    """A paragraph: a digest of its words, and its place in the document's text."""

    digest: bytes
    start: int
    end: int


def iterate_paragraphs(text: str) -> Iterator[Paragraph]:
    """The paragraphs of a text, in order: lines that follow each other, from a visible character to the last."""
    first = _VISIBLE.search(text)
    while first is not None:
        start = first.start()
        end, following = _find_end(text, start)
        yield Paragraph(_digest_words(text, start, end), start, end)
        first = _VISIBLE.search(text, following)


def _find_end(text: str, start: int) -> tuple[int, int]:
    """The end of the paragraph that starts here, and where the text goes on."""
    end = following = len(text)
    for found in _BREAK.finditer(text, start):
        if "\n" in found[0]:
            end, following = found.span()
            break
    while text[end - 1].isspace():
        end -= 1
    return end, following


def _digest_words(text: str, start: int, end: int) -> bytes:
    """A digest of the words between two visible characters; white space counts as one blank."""
    if end - start <= _PART_CHARS:
        words = " ".join(text[start:end].split())
        return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for first in range(start, end, _PART_CHARS):
        part = text[first : min(end, first + _PART_CHARS)]
        words = " ".join(part.split())
        is_new_word = first > start and (part[0].isspace() or text[first - 1].isspace())
        if words:
            blank = " " if is_new_word else ""
            digest.update(f"{blank}{words}".encode("utf-8", "surrogatepass"))
    return digest.digest()
