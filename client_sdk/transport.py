"""How SDK functions reach the host. The sandbox connects it; a script never sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Transport = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]

_transport: list[Transport] = []


class SDKError(Exception):
    """The knowledge base refused a call. Catch it and ask differently.

    ``type`` is a short code, ``message`` the reason, ``hint`` what to do instead (or None).

        try:
            rows = fetch(["guide.md#1", "guide.md#2"])
        except SDKError as error:
            rows = []
            print(error.type, error.hint)
    """

    def __init__(self, type: str, message: str, hint: str | None = None, *, limit: bool = False) -> None:
        super().__init__(f"{type}: {message}" + (f" ({hint})" if hint else ""))
        self.type = type
        self.message = message
        self.hint = hint
        self.limit = limit


def connect(transport: Transport) -> None:
    """Where calls go from now on."""
    _transport[:] = [transport]


def call(method: str, params: Mapping[str, Any]) -> Any:
    """One call: the host's value, or SDKError."""
    if not _transport:
        raise SDKError("NOT_CONNECTED", "the SDK answers inside execute_code only")
    reply = _transport[0](method, params)
    error = reply.get("error")
    if error is not None:
        raise SDKError(error["type"], error["message"], error["hint"], limit=error["limit"])
    return reply["ok"]
