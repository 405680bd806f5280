"""Parsing of a pipe's lines as JSON-RPC messages, and the answers to unreadable lines. No I/O here.

A client that gets no answer waits for its timeout. So every unreadable line is answered: with the id of its
request where that can be found, else with ``null``, as JSON-RPC says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    RequestId,
    jsonrpc_message_adapter,
)

# The same as for an HTTP body; four times the maximum size of a tool's arguments.
MAX_LINE_BYTES = 4 * 1024 * 1024
# Bytes of an unreadable line searched for its id, at either end: clients write it first or last.
END_BYTES = 64 * 1024
_MAX_ID_CHARS = 1_000

_BYTE_ORDER_MARK = "\ufeff"
_STRING = r'"(?:[^"\\]|\\.){0,200}"'
_ID = rf'"id"\s*:\s*(-?\d{{1,18}}|{_STRING})'
_OTHER = rf'"(?:jsonrpc|method)"\s*:\s*{_STRING}'
_ID_FIRST = re.compile(rf"\s*\{{\s*(?:{_OTHER}\s*,\s*){{0,2}}{_ID}\s*[,}}]")
_ID_LAST = re.compile(rf"{_ID}(?:\s*,\s*{_OTHER}){{0,2}}\s*\}}\s*\Z")


class UnreadableLine(Exception):
    """A line that is not a message. ``answer`` is the error to send back."""

    def __init__(self, code: int, why: str, request_id: RequestId | None = None) -> None:
        super().__init__(why)
        self.answer = JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=why))


def message_of(line: bytes) -> JSONRPCMessage:
    """Parse one whole line as a message.

    Raises:
        UnreadableLine: for everything else.
    """
    text = line.decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK)
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        raise _explain(text) from None
    # A request whose id is null, a fraction or a boolean would be taken for a notification and not answered.
    if isinstance(message, JSONRPCNotification) and '"id"' in text and "id" in json.loads(text):
        raise UnreadableLine(INVALID_REQUEST, "Invalid Request: an id is a string or a whole number")
    return message


def long_line_error(head: bytes, tail: bytes) -> UnreadableLine:
    """The error for a line longer than ``MAX_LINE_BYTES``, of which ``head`` and ``tail`` are the ends."""
    why = f"Invalid Request: a line has at most {MAX_LINE_BYTES:,} bytes; send less in one message"
    return UnreadableLine(
        INVALID_REQUEST, why, _find_id(head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"))
    )


def _explain(text: str) -> UnreadableLine:
    """Why a line is not a message, with the id of its request."""
    try:
        value = json.loads(text)
    except RecursionError:
        return UnreadableLine(PARSE_ERROR, "Parse error: the JSON is nested too deep", _find_id(text, text))
    except json.JSONDecodeError as error:
        return UnreadableLine(
            PARSE_ERROR, f"Parse error: {error.msg} at character {error.pos}", _find_id(text, text)
        )
    except ValueError:
        return UnreadableLine(PARSE_ERROR, "Parse error: a number has too many digits", _find_id(text, text))
    if not isinstance(value, dict):
        return UnreadableLine(INVALID_REQUEST, "Invalid Request: a message is one JSON object")
    code, why = _reason_of(value)
    return UnreadableLine(code, why, _request_id(value))


def _reason_of(value: Mapping[str, Any]) -> tuple[int, str]:
    """Why a JSON object is not a message: an error code and a text."""
    if not _is_encodable(value):
        return PARSE_ERROR, "Parse error: a string holds half of a surrogate pair; cut texts between characters"
    if not isinstance(value.get("params"), dict | None):
        return INVALID_REQUEST, "Invalid Request: params must be an object"
    if value.get("jsonrpc") == "2.0" and isinstance(value.get("method"), str):
        return PARSE_ERROR, "Parse error: the JSON is nested too deep, or has a number that is too long"
    return INVALID_REQUEST, "Invalid Request: not a JSON-RPC 2.0 message"


def _is_encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _request_id(value: Mapping[str, Any]) -> RequestId | None:
    """The id of a request. In an answer, it would be the id of one of our own requests."""
    id = value.get("id") if "method" in value or not {"result", "error"} & value.keys() else None
    if isinstance(id, str):
        return id if len(id) <= _MAX_ID_CHARS and _is_encodable(id) else None
    return id if type(id) is int else None


def _find_id(head: str, tail: str) -> RequestId | None:
    """The id of a request, searched for at the ends of a text that cannot be parsed."""
    match = _ID_FIRST.match(head[:END_BYTES]) or _ID_LAST.search(tail[-END_BYTES:])
    if match is None:
        return None
    try:
        return _request_id({"id": json.loads(match[1])})
    except ValueError:
        return None
