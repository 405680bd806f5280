"""Token counts with tiktoken and a vocabulary that ships with winnow, without downloads.

The vocabulary is the file in ``server/data/tiktoken``, whose sha256 is checked; the pattern and the special tokens
are those of tiktoken, which reads the file more slowly, and from the network where it is not the one it wants. If
it cannot be read, the count falls back to bytes / 4, and ``encoding_name`` reports that, because a wrongly
labelled count is worse than a rough one.
"""

from __future__ import annotations

import hashlib
import re
from binascii import a2b_base64
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar

import tiktoken

from winnow.server import DATA

ENCODING = "o200k_base"
FALLBACK = "bytes/4"
# tiktoken's name for the file: the digest of the address that it comes from.
_VOCABULARY = DATA / "tiktoken" / "fb374d419588a4632f3f557e76b4b70aebbca790"
_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_SPECIAL = {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}
_ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_PATTERN = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]*[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]+{_ENDINGS}",
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}]*{_ENDINGS}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
_FALLBACK_BYTES = 4
# The pattern that tiktoken splits text with runs out of stack on about a megabyte of white space, and the process
# panics. Pieces of a tenth of that never come near; a count grows by at most one token for each.
_PIECE_CHARS = 100_000
# English prose has four to five characters a token, and no token of the vocabulary is longer than 128 bytes.
_USUAL_CHARS = 6
_WIDEST_CHARS = 128
_Side = Literal["start", "end"]
_Items = TypeVar("_Items", str, bytes, list[int])
_SURROGATES = re.compile("[\ud800-\udfff]")


@cache
def _encoding() -> tiktoken.Encoding | None:
    try:
        return tiktoken.Encoding(**define_encoding())
    except (OSError, ValueError):  # the file is missing, or not the one that it should be
        return None


def define_encoding() -> Mapping[str, Any]:
    """The arguments of ``tiktoken.Encoding``. Raises OSError, or ValueError where the file is another one."""
    lines = _VOCABULARY.read_bytes()
    if hashlib.sha256(lines).hexdigest() != _SHA256:
        raise ValueError("the vocabulary is damaged")
    words = lines.split()[::2]  # each with its rank, which counts up from 0
    ranks = dict(zip(map(a2b_base64, words), range(len(words)), strict=True))
    return {"name": ENCODING, "pat_str": _PATTERN, "mergeable_ranks": ranks, "special_tokens": _SPECIAL}


def is_loaded() -> bool:
    """Whether the vocabulary is in memory, so that counting takes no longer than the text demands."""
    return _encoding.cache_info().currsize > 0


def encoding_name() -> str:
    """The name of the tokenizer: "o200k_base", or "bytes/4" if the vocabulary cannot be read."""
    return ENCODING if _encoding() else FALLBACK


def count_tokens(text: str) -> int:
    """Count the tokens of ``text``. The first call loads the vocabulary (about 0.2 s, 66 MB)."""
    encoding = _encoding()
    return _fallback_count(text) if encoding is None else len(_encode(encoding, text))


def first_tokens(text: str, n: int) -> str:
    """The longest prefix of ``text`` that is whole tokens and whole characters, and counts at most ``n`` tokens.

    ``text`` itself where it fits. One character can take several tokens, four at most, so an ``n`` below four may
    yield the empty string. The time it takes depends on ``n``, not on the length of ``text``.

    >>> first_tokens("Backups are kept for 30 days.", 4)
    'Backups are kept'
    """
    return _cut(text, n, "start")


def last_tokens(text: str, n: int) -> str:
    """The same from the end: the longest suffix of whole tokens and characters that counts at most ``n`` tokens.

    >>> last_tokens("Backups are kept for 30 days.", 4)
    ' 30 days.'
    """
    return _cut(text, n, "end")


def halves_a_pair(text: str, at: int) -> bool:
    """Whether a cut before ``text[at]`` falls between two surrogates that are one character."""
    return 0 < at < len(text) and "\ud800" <= text[at - 1] <= "\udbff" and "\udc00" <= text[at] <= "\udfff"


def _fallback_count(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // _FALLBACK_BYTES)


def _encode(encoding: tiktoken.Encoding, text: str) -> list[int]:
    if len(text) <= _PIECE_CHARS:
        return encoding.encode_ordinary(text)
    pieces = (text[start : start + _PIECE_CHARS] for start in range(0, len(text), _PIECE_CHARS))
    return [token for piece in pieces for token in encoding.encode_ordinary(piece)]


def _cut(text: str, n: int, side: _Side) -> str:
    if n <= 0:
        return ""
    encoding = _encoding()
    if encoding is None:
        raw = _take(text, n * _FALLBACK_BYTES, side).encode("utf-8", "replace")
        return _whole_characters(_take(raw, n * _FALLBACK_BYTES, side), text, side)
    piece = _relevant_part(text, n, side)
    return piece if count_tokens(piece) <= n else _longest_fitting(encoding, piece, n, side)


def _relevant_part(text: str, n: int, side: _Side) -> str:
    """The part of ``text`` that decides the cut, so that a megabyte is not encoded for ten tokens."""
    size = n * _USUAL_CHARS
    while size < len(text) and count_tokens(_take(text, size, side)) <= n:
        size *= 2
    return _take(text, size + _WIDEST_CHARS, side)


def _longest_fitting(encoding: tiktoken.Encoding, piece: str, n: int, side: _Side) -> str:
    """The longest part that fits. A cut changes the encoding next to it, so each candidate is counted."""
    tokens = _encode(encoding, _SURROGATES.sub("\ufffd", piece))
    for kept in range(n, 0, -1):
        candidate = _whole_characters(encoding.decode_bytes(_take(tokens, kept, side)), piece, side)
        if count_tokens(candidate) <= n:
            return candidate
    return ""


def _whole_characters(raw: bytes, text: str, side: _Side) -> str:
    """The characters of ``text`` whose bytes are complete in ``raw``, counted from one side."""
    size = len(raw.decode("utf-8", "ignore"))
    return _take(text, size - halves_a_pair(text, size if side == "start" else len(text) - size), side)


def _take(items: _Items, size: int, side: _Side) -> _Items:
    return items[:size] if side == "start" else items[max(0, len(items) - size) :]
