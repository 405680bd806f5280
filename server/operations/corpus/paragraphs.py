"""The paragraphs of a text, with digests by which they are compared: in linear time and constant memory."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

from winnow.server.text.markup.possessive import compile_possessive

# Lines that follow each other, from the first visible character to the last. Possessive: the matcher keeps nothing
# to come back to, which for a paragraph of a million lines would be hundreds of megabytes.
_PARAGRAPH = compile_possessive(r"\S(?:.*\S)?+(?:[ \t]*+\n[ \t]*+\S(?:.*\S)?+)*+")
_DIGEST_BYTES = 12
# A paragraph is divided into words part by part: its words together may take ten times its memory.
_PART_CHARS = 64 * 1024


class Paragraph(NamedTuple):  # made for each paragraph: a frozen dataclass takes four times as long
    """A paragraph: a digest of its words, and its place in the document's text."""

    digest: bytes
    start: int
    end: int


def iterate_paragraphs(text: str) -> Iterator[Paragraph]:
    """The paragraphs of a text, in order."""
    for found in _PARAGRAPH.finditer(text):
        start, end = found.span()
        yield Paragraph(_digest_words(text, start, end), start, end)


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
