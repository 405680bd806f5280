"""``read_result``: reads a stored result that was too large to be sent, in portions."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.scripts import ReadResult
from winnow.server.errors import WinnowError
from winnow.server.operations.base import Answer, Caller
from winnow.server.sessions.result_store import ResultStore
from winnow.server.text.printable import printable
from winnow.server.text.tokens import count_tokens, first_tokens


def read_portion(results: ResultStore, caller: Caller, request: ReadResult) -> Answer:
    """A portion of a stored result's JSON, from ``start_char`` on; for a script, the whole rest."""
    whole = results.get(caller.connection, request.execution_id)
    if whole is None:
        raise WinnowError("NOT_FOUND", "this result is unknown or no longer held; run the script again")
    text = printable(whole) if caller.budget.is_direct else whole
    if request.start_char >= len(text):
        raise WinnowError("INVALID_REQUEST", f"start_char: this result ends at {len(text):,} characters")
    rest = text[request.start_char :]
    portion = first_tokens(rest, request.max_tokens) if caller.budget.is_direct else rest
    end = request.start_char + len(portion)
    payload: dict[str, Any] = {
        "execution_id": request.execution_id,
        "text": portion,
        "start_char": request.start_char,
        "total_chars": len(text),
        "truncated": end < len(text),
    }
    if end < len(text):
        payload["next_start_char"] = end
    return Answer(payload, "full", 1, count_tokens(portion), noted={"results_read": 1})
