"""How SDK functions reach the host. The sandbox connects it; a script never sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Transport(Protocol):
    """Carries calls. A reply is ``{"ok": value}`` or ``{"error": {...}}``."""

    def __call__(self, method: str, params: Mapping[str, Any], each: Sequence[Mapping[str, Any]] = ()) -> Any:
        """The reply to one call; with ``each``, to the same call once for each of these further parameters."""


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
    reply = _connected()(method, params)
    error = error_in(reply)
    if error is not None:
        raise error
    return reply["ok"]


def call_each(
    method: str, params: Mapping[str, Any], several: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """The same call once for each: the replies, whether they went well or not."""
    return _connected()(method, params, several) if several else []


def error_in(reply: Mapping[str, Any]) -> SDKError | None:
    """Why a call was refused, if it was."""
    error = reply.get("error")
    if error is None:
        return None
    return SDKError(error["type"], error["message"], error["hint"], limit=error["limit"])


def _connected() -> Transport:
    if not _transport:
        raise SDKError("NOT_CONNECTED", "the SDK answers inside execute_code only")
    return _transport[0]
