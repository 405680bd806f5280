"""Lines that the texts of several answers share."""

from __future__ import annotations

from typing import Any


def partial_note(payload: dict[str, Any], page_size: str = "page_size") -> str:
    """Why a page is incomplete, for its headline; "" if it is complete.

    ``page_size``: the parameter of the tool that sets the number of rows in one answer.
    """
    reason = page_size if payload["limit_reason"] == "page_size" else payload["limit_reason"]
    return f" (partial, stopped by {reason})" if payload["partial"] else ""
