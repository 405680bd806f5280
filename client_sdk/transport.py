"""The connection from SDK functions to the server. The sandbox sets it; scripts do not use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Transport(Protocol):
    """Sends calls. A reply is ``{"ok": value}`` or ``{"error": {...}}``."""

    def __call__(self, method: str, params: Mapping[str, Any], each: Sequence[Mapping[str, Any]] = ()) -> Any:
        """The reply to one call; with ``each``, the replies to one call for each of these sets of parameters."""


_transport: list[Transport] = []


class SDKError(Exception):
    """The knowledge base refused a call. Catch it and change the call.

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
    """Set the transport of all later calls."""
    _transport[:] = [transport]


def call(method: str, params: Mapping[str, Any]) -> Any:
    """Make one call and return its value. Raises SDKError where it is refused."""
    reply = _current_transport()(method, params)
    error = error_of(reply)
    if error is not None:
        raise error
    return reply["ok"]


def call_each(
    method: str, params: Mapping[str, Any], several: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """Make one call for each set of parameters and return all replies, errors included."""
    return _current_transport()(method, params, several) if several else []


def error_of(reply: Mapping[str, Any]) -> SDKError | None:
    """The error in a reply; None if there is none."""
    error = reply.get("error")
    if error is None:
        return None
    return SDKError(error["type"], error["message"], error["hint"], limit=error["limit"])


def _current_transport() -> Transport:
    if not _transport:
        raise SDKError("NOT_CONNECTED", "the SDK works only inside execute_code; run this script there")
    return _transport[0]
