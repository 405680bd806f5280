"""A scan that is followed to its end: page after page, and part after part where one call's time does not suffice.

A call looks through as many documents as it has time for: a part. Counts of parts are added up, and so are counts
by key. Rows are taken until there are as many as were asked for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from winnow.server.contracts.corpus.scan import MAX_SCAN_ROWS
from winnow.server.errors import WinnowError
from winnow.server.operations.answers.paging import TIME_ENDED, ScanCursor
from winnow.server.operations.knowledge import SCRIPT, Knowledge

COUNTS = ("matches", "passages", "documents")
_EXTENT = ("documents", "passages", "characters")
_MOST_KEYS = 100_000
_TOO_MANY_KEYS = f"more than {_MOST_KEYS:,} keys; group by something coarser, or narrow with --path"
_NOT_COMPLETE = "the scan is not complete: what is shown is of the part that was looked through"

OnPart = Callable[[int, int], Awaitable[None]]  # documents looked through, matches
Counts = Mapping[str, int]


@dataclass
class FollowedScan:
    """A scan, and what it has found so far.

    ``arguments``: those of ``kb.scan``. ``limit`` bounds the rows; matches are counted beyond it. ``next``: the
    cursor of the next call. ``rest``: the cursor of the first row that is not shown, None while there is none.
    ``keys``: rows by key, of a scan with ``group_by`` that takes several parts.
    """

    arguments: Mapping[str, Any]
    limit: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    keys: dict[str, dict[str, Any]] | None = None
    total: Counts = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    scanned: Counts = field(default_factory=lambda: dict.fromkeys(_EXTENT, 0))
    next: str | None = None
    rest: str | None = None
    is_complete: bool = False
    is_over: bool = False
    warnings: dict[str, None] = field(default_factory=dict)
    _before: tuple[Counts, Counts] | None = None  # total and scanned of the parts before this one
    _is_begun_again: bool = False  # and nothing is taken since

    async def follow(self, kb: Knowledge, on_part: OnPart) -> None:
        """Call until all text was looked through and the rows are there, or a call fails.

        Raises ``WinnowError`` if the first call fails; the error of a later one becomes a warning.
        """
        caller = kb.caller("shell", SCRIPT)
        self.next = self.arguments.get("cursor")
        while not self.is_over:
            try:
                answer = await kb.call("kb.scan", {**self.arguments, "cursor": self.next}, caller)
                self._take(answer.payload)
            except WinnowError as error:
                if not self.scanned["documents"]:
                    raise
                self.warnings[error.message] = None
                return
            self.warnings |= {one: None for one in answer.warnings if not one.startswith(TIME_ENDED)}
            if not answer.payload["complete"]:
                await on_part(self.scanned["documents"], self.total["matches"])

    def payload(self) -> dict[str, Any]:
        """The matches, in the shape of an answer of ``kb.scan``."""
        rows = self.rows
        if self.keys is not None:
            rows = sorted(self.keys.values(), key=lambda row: (-row["matches"], row["key"]))[: self.limit]
        is_cut = self.rest is not None or len(self.keys or ()) > len(rows)
        reason = "page_size" if is_cut else "none" if self.is_over else "time"
        return {
            "results": rows,
            "total": self.total,
            "scanned": self.scanned,
            "complete": self.is_complete,
            "count": len(rows),
            "partial": reason != "none",
            "limit_reason": reason,
            "next_cursor": self.rest or (None if self.is_over or self.keys is not None else self.next),
        }

    def all_warnings(self) -> tuple[str, ...]:
        """The warnings of all calls, each once, and one if the scan is not complete."""
        return (*self.warnings, *(() if self.is_complete else (_NOT_COMPLETE,)))

    def _take(self, page: dict[str, Any]) -> None:
        """Take the rows and counts of a page, and choose the next call."""
        if self.arguments.get("group_by") and self.keys is None and not page["complete"]:
            self._begin_keys(page)
            return
        if self._is_begun_again:
            self.keys, self._is_begun_again = {}, False
        if self._before is None:
            self._before = (self.total, self.scanned)
        self.total, self.scanned = _add(self._before[0], page["total"]), _add(self._before[1], page["scanned"])
        self.is_complete = page["complete"]
        if self.keys is None:
            self._take_rows(page)
        else:
            self._add_keys(self.keys, page)
        self._move(page)

    def _begin_keys(self, page: dict[str, Any]) -> None:
        """Begin again, and take all keys, in the longest pages: those of several parts are added up.

        Until then this page is what was found.
        """
        if self.next is not None:
            raise WinnowError(
                "INVALID_REQUEST", "cursor: counts by key of several parts are added up; leave --cursor out"
            )
        self._before, self._is_begun_again = (self.total, self.scanned), True
        self.total, self.scanned = page["total"], page["scanned"]
        self.keys, self.arguments = {}, {**self.arguments, "limit": MAX_SCAN_ROWS}
        self._add_keys(self.keys, page)

    def _take_rows(self, page: dict[str, Any]) -> None:
        taken = page["results"][: self.limit - len(self.rows)]
        self.rows += taken
        if self.rest is None and len(taken) < len(page["results"]):
            here = ScanCursor.decode(self.next or "")  # a first page is never longer than the limit
            self.rest = replace(here, offset=here.offset + len(taken)).encode()
        elif self.rest is None and len(self.rows) == self.limit and page["limit_reason"] != "time":
            self.rest = page["next_cursor"]

    def _add_keys(self, keys: dict[str, dict[str, Any]], page: dict[str, Any]) -> None:
        for row in page["results"]:
            known = keys.get(row["key"])
            keys[row["key"]] = {**row, **_add(known, row)} if known else row
        if len(keys) > _MOST_KEYS:
            raise WinnowError("INVALID_REQUEST", f"group_by: {_TOO_MANY_KEYS}")

    def _move(self, page: dict[str, Any]) -> None:
        """Choose the next call: the next page of this part, or the next part."""
        following = page["next_cursor"]
        are_rows_wanted = page["limit_reason"] != "time" and self.rest is None
        if following is None or (self.is_complete and not are_rows_wanted):
            self.is_over = True
        elif are_rows_wanted:
            self.next = following
        else:
            self.next = _cursor_of_next_part(following, is_page=page["limit_reason"] != "time")
            self._before = None


def _add(one: Counts, other: Counts) -> dict[str, int]:
    return {name: one[name] + other[name] for name in (COUNTS if "matches" in one else _EXTENT)}


def _cursor_of_next_part(following: str, *, is_page: bool) -> str:
    """The cursor of what comes after a part. ``is_page``: the given one is of another page of that part."""
    here = ScanCursor.decode(following)
    return replace(here, offset=0, first=here.last, last=0).encode() if is_page else following
