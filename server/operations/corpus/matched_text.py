"""The shown part of a match, of its groups and of a key: a part to models, the whole to scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from winnow.server.contracts.corpus.scan import MAX_MATCH_CHARS, MAX_WHOLE_CHARS, Scan
from winnow.server.errors import WinnowError
from winnow.server.operations.base import RequestContext
from winnow.server.text.printable import one_line, printable, shorten

_DIGEST_BYTES = 6
# A key in a direct answer, and the digest of one that is longer.
KEY_CHARS = 480
_FOR_SCRIPTS = (
    f"max_match: more than {MAX_MATCH_CHARS} characters of a match are for scripts (execute_code: scan); kb_read "
    "from the match's start on has its text"
)
_TOO_LONG = (
    "{what} in {file!r}, at characters {start} to {end}, has {size:,} characters, and a row has at most {most:,}; "
    "give max_match=500 for the first 500 of each match and group, or use a pattern that takes less"
)
_CUT = (
    "{count} of these {what} are cut after {most:,} characters, at the sign …: {advice}, and the rows are marked "
    "with truncated"
)
_CUT_MATCH = "start and end are of the whole match, which reading the document from start has"
_CUT_KEY = "what follows it is a digest that keeps different keys apart"


@dataclass(frozen=True, slots=True)
class ShownLength:
    """So many characters are shown of a match and of each group, and of a key; None: all of them."""

    match: int | None
    key: int | None

    def cut(self, text: str) -> str:
        """A match or a group as it is shown."""
        if self.match is None:
            return printable(text)
        return shorten(printable(text[: self.match + 1]), self.match)

    def cut_key(self, text: str) -> str:
        """A key as it is shown: of a long one the beginning and a digest, so that different keys stay so."""
        if self.key is None or len(text) <= self.key:
            return text
        return f"{text[: self.key]}…{blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()}"

    def is_cut(self, texts: Iterable[str]) -> bool:
        """Whether a match or one of its groups has more characters than are shown."""
        return self.match is not None and any(len(text) > self.match for text in texts)

    def is_cut_key(self, key: str) -> bool:
        """Whether a key from ``cut_key`` is one that was cut."""
        return self.key is not None and len(key) > self.key

    def warning(self, cut: int, *, is_grouped: bool) -> str:
        """The warning that so many rows are cut."""
        if is_grouped:
            return _CUT.format(count=cut, what="keys", most=self.key, advice=_CUT_KEY)
        return _CUT.format(count=cut, what="matches", most=self.match, advice=_CUT_MATCH)


def shown_length(context: RequestContext, request: Scan) -> ShownLength:
    """The shown length of each match. Raises INVALID_REQUEST where a direct call asks for too much."""
    asked = request.max_match
    if not context.caller.budget.is_direct:
        return ShownLength(asked, asked)
    if asked is not None and asked > MAX_MATCH_CHARS:
        raise WinnowError("INVALID_REQUEST", _FOR_SCRIPTS)
    return ShownLength(asked or MAX_MATCH_CHARS, min(asked or KEY_CHARS, KEY_CHARS))


def require_handed_over(size: int, what: str, file: str, start: int, end: int) -> None:
    """Raise INVALID_REQUEST if so many characters are more than a row has."""
    if size > MAX_WHOLE_CHARS:
        raise WinnowError(
            "INVALID_REQUEST",
            _TOO_LONG.format(
                what=what, file=one_line(file, 200), start=start, end=end, size=size, most=MAX_WHOLE_CHARS
            ),
        )
