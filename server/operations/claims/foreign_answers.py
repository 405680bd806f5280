"""Reads what another server of notebooks answers, which nobody here wrote: every value is checked and cleaned.

A server may have routes that are alike, and rows that have less (``id`` for ``entry_id``, claims without numbers)
or more. What is missing is filled in where that is harmless; fields that are not known are left out; anything else
that does not fit is an error, so that no part of an answer is shown as another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ValidationError

from winnow.server.errors import WinnowError
from winnow.server.operations.claims.rows import moment
from winnow.server.text.printable import ONE_LINE_CHARS, one_line, printable

_ENTRY = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,56}")
_CLAIM = re.compile(rf"{_ENTRY.pattern}\.[1-9][0-9]{{0,5}}")
# Fields that are shown outside the marks around foreign text: nothing but an id may stand there.
_ENTRIES, _CLAIMS = frozenset({"entry_id"}), frozenset({"claim", "other", "nearest_claim"})
_LISTS_OF_ENTRIES = frozenset({"references", "missing_ids"})
_QUOTE_CHARS = 1_000
_META = {
    "tool": "",
    "version": "",
    "duration_ms": 0,
    "trace_id": "",
    "usage": {"tokens": 0, "bytes": 0, "tokenizer": ""},
}
_NOT_ITS_ANSWER = "the server of notebooks answers with what is no answer of its kind ({what}); check notebook_url"


def is_entry_id(text: str) -> bool:
    """Whether a text may be the id of an entry on any server."""
    return _ENTRY.fullmatch(text) is not None


def read_rows(model: type[BaseModel], answer: Mapping[str, Any], name: str, most: int) -> list[dict[str, Any]]:
    """The rows of an answer, each as a dictionary of ``model``'s fields, None left out; at most ``most``.

    Raises ``WinnowError("SOURCE_UNAVAILABLE")`` for anything that is not as these rows are.
    """
    rows = answer.get(name)
    if not isinstance(rows, list):
        raise _foreign(f"no list of {name}")
    return [_read(model, row) for row in rows[:most]]


def read_whole(model: type[BaseModel], answer: Mapping[str, Any]) -> dict[str, Any]:
    """A whole answer as a dictionary of the fields of ``model`` without ``meta``. Raises as ``read_rows`` does."""
    found = _read(model, {**answer, "meta": _META})
    del found["meta"]
    return found


def _read(model: type[BaseModel], value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _foreign("a row is no object")
    try:
        read = model.model_validate(_complete(value), extra="ignore")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise _foreign(f"{one_line(place, 80)}: {first['msg'][:100]}") from None
    cleaned: dict[str, Any] = _clean(read.model_dump(exclude_none=True))
    return cleaned


def _complete(row: dict[str, Any]) -> dict[str, Any]:
    """The row with what other servers leave out."""
    claims = row.get("claims")
    if not isinstance(claims, list):
        return row
    numbered = [
        {"n": number, **claim} if isinstance(claim, dict) else claim
        for number, claim in enumerate(claims, start=1)
    ]
    confidences = [share for claim in numbered if (share := _confidence(claim)) is not None]
    complete = {
        "entry_id": row.get("id"),
        "claims_status": "distilled",
        "confidence_avg": round(sum(confidences) / max(len(confidences), 1), 3),
        "max_friction": 0.0,
        "integration_status": "probation",
    }
    missing = {name: value for name, value in complete.items() if row.get(name) is None}
    return {**row, **missing, "claims": numbered}


def _confidence(claim: Any) -> float | None:
    value = claim.get("confidence") if isinstance(claim, dict) else None
    return value if isinstance(value, int | float) and 0 <= value <= 1 else None


def _clean(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _clean(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [_clean(part, name) for part in value]
    return _clean_text(value, name) if isinstance(value, str) else value


def _clean_text(text: str, name: str) -> str:
    is_entry = name in _ENTRIES or name in _LISTS_OF_ENTRIES
    if (is_entry and not is_entry_id(text)) or (name in _CLAIMS and not _CLAIM.fullmatch(text)):
        raise _foreign(f"{name} is no id")
    if name == "at":
        return _clean_moment(text)
    if name == "content":
        return printable(text)
    return one_line(text, _QUOTE_CHARS if name == "quote" else ONE_LINE_CHARS) if text else ""


def _clean_moment(text: str) -> str:
    try:
        return moment(datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError, OSError):
        raise _foreign("at is no time") from None


def _foreign(what: str) -> WinnowError:
    return WinnowError("SOURCE_UNAVAILABLE", _NOT_ITS_ANSWER.format(what=what))


def by_entry(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The rows by ``entry_id``; of several with one id the first."""
    return {row["entry_id"]: row for row in reversed(rows)}
