"""Lines of a pipe as messages, and what to answer to a line that is none. No I/O here.

A client that gets no answer waits for its time-out. So every line that cannot be read is answered: with the id of
its request where that can be found, else with ``null``, as JSON-RPC says.
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

# An HTTP body may have as many. Four times what the arguments of a tool may take.
LONGEST_LINE_BYTES = 4 * 1024 * 1024
# How much of an unreadable line is searched for its id, at either end: clients write it first or last.
END_BYTES = 64 * 1024
_LONGEST_ID = 1_000

_BYTE_ORDER_MARK = "\ufeff"
_STRING = r'"(?:[^"\\]|\\.){0,200}"'
_ID = rf'"id"\s*:\s*(-?\d{{1,18}}|{_STRING})'
_OTHER = rf'"(?:jsonrpc|method)"\s*:\s*{_STRING}'
_ID_FIRST = re.compile(rf"\s*\{{\s*(?:{_OTHER}\s*,\s*){{0,2}}{_ID}\s*[,}}]")
_ID_LAST = re.compile(rf"{_ID}(?:\s*,\s*{_OTHER}){{0,2}}\s*\}}\s*\Z")


class UnreadableLine(Exception):
    """A line that is no message. ``answer`` is what its sender gets."""

    def __init__(self, code: int, why: str, request_id: RequestId | None = None) -> None:
        super().__init__(why)
        self.answer = JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=why))


def message_of(line: bytes) -> JSONRPCMessage:
    """The message of one whole line.

    Raises:
        Unreadable: for everything that is none.
    """
    text = line.decode("utf-8", "replace").removeprefix(_BYTE_ORDER_MARK)
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        raise _explained(text) from None
    # A request whose id is null, a fraction or a truth value would be taken for a notification, and not answered.
    if isinstance(message, JSONRPCNotification) and '"id"' in text and "id" in json.loads(text):
        raise UnreadableLine(INVALID_REQUEST, "Invalid Request: an id is a string or a whole number")
    return message


def too_long(head: bytes, tail: bytes) -> UnreadableLine:
    """What to say of a line of more than ``LONGEST_LINE_BYTES``; these are its ends."""
    why = f"Invalid Request: a line may have {LONGEST_LINE_BYTES:,} bytes; send less at once"
    return UnreadableLine(
        INVALID_REQUEST, why, _id_in(head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"))
    )


def _explained(text: str) -> UnreadableLine:
    """Why a line is no message, and whose answer that is."""
    try:
        value = json.loads(text)
    except RecursionError:
        return UnreadableLine(PARSE_ERROR, "Parse error: the JSON is nested too deep", _id_in(text, text))
    except json.JSONDecodeError as error:
        return UnreadableLine(
            PARSE_ERROR, f"Parse error: {error.msg} at character {error.pos}", _id_in(text, text)
        )
    except ValueError:
        return UnreadableLine(PARSE_ERROR, "Parse error: a number has too many digits", _id_in(text, text))
    if not isinstance(value, dict):
        return UnreadableLine(INVALID_REQUEST, "Invalid Request: a message is one JSON object")
    code, why = _reason(value)
    return UnreadableLine(code, why, _request_id(value))


def _reason(value: Mapping[str, Any]) -> tuple[int, str]:
    """Why a JSON object is no message."""
    if not _is_unicode(value):
        return PARSE_ERROR, "Parse error: a string holds half of a surrogate pair; cut texts between characters"
    if not isinstance(value.get("params"), dict | None):
        return INVALID_REQUEST, "Invalid Request: params must be an object"
    if value.get("jsonrpc") == "2.0" and isinstance(value.get("method"), str):
        return PARSE_ERROR, "Parse error: the JSON is nested too deep, or has a number that is too long"
    return INVALID_REQUEST, "Invalid Request: not a JSON-RPC 2.0 message"


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _request_id(value: Mapping[str, Any]) -> RequestId | None:
    """The id of a request. That of an answer would be the id of a request of ours."""
    found = value.get("id") if "method" in value or not {"result", "error"} & value.keys() else None
    if isinstance(found, str):
        return found if len(found) <= _LONGEST_ID and _is_unicode(found) else None
    return found if type(found) is int else None


def _id_in(head: str, tail: str) -> RequestId | None:
    """The id of a request in the ends of a text that cannot be parsed."""
    found = _ID_FIRST.match(head[:END_BYTES]) or _ID_LAST.search(tail[-END_BYTES:])
    if found is None:
        return None
    try:
        return _request_id({"id": json.loads(found[1])})
    except ValueError:
        return None
