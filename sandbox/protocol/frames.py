"""Frames between a child and its parent. No I/O here; both ends use this file.

A frame is four bytes of length, big-endian, and a body. The two directions use different codecs, because only one
of them is trusted:

    child -> parent   JSON, decoded as hostile text: bounded before it is parsed, then checked node by node
    parent -> child   marshal, the fastest codec available; the child trusts its parent anyway

The frames that a child may send (one key names the frame):

    {"call": METHOD, "params": {...}}     an SDK call; the parent answers before it reads the next frame
    {"call": ..., "params": ..., "each": [{...}, ...]}
                                          a batch: the same call once for each, with these further parameters
    {"out": TEXT}                         printed text, at most OUT_CHARS of it, exactly as `dump` encodes it
    {"result": VALUE}                     success
    {"done": true}                        success without a value: the printed text is the result
    {"error": {...}, "status": STATUS}    failure
    {"error": ..., "status": ..., "partial": VALUE}
                                          a limit ended the script, and its result held this

Anything else is a ProtocolError, and the child is killed. The parent sends one job, then for each call a reply:
{"ok": VALUE} or {"error": {...}}, or a list of them for a batch. Monty's child says {"ready": ...} first
(runners/child_process.py).
"""

from __future__ import annotations

import itertools
import json
import marshal
import re
import struct
from dataclasses import dataclass, field, replace
from typing import Any

from .limits import KIB, Limits

HEADER = struct.Struct(">I")

OUT_CHARS = 4 * KIB  # one frame of printed text; a killed child loses at most one frame that was not full
METHOD_CHARS = 64
ERROR_CHARS = 8 * KIB  # a message, a source line and a hint
SLACK = 4 * KIB  # keys and braces around the largest payload
BATCH_CALLS = 50  # calls in one frame; the answers of one batch fill about one reply
INT_BITS = 1023  # the widest integer that every JSON reader can hold as a finite double
RESULT_NODES = 200_000  # a result of 32 KiB has at most 16 Ki nodes; this is for larger settings

_MAX_NUMBER = 1 << 31  # of lines, columns, bytes and tokens: a result of four million characters is far below

CHILD_STATUSES = frozenset({"error", "rejected", "memory", "limit"})
PARTIAL_STATUSES = frozenset({"memory", "limit"})  # those that a partial result may come with
_ERROR_FIELDS: dict[str, type] = {
    "type": str,
    "message": str,
    "line": int,
    "column": int,
    "source_line": str,
    "hint": str,
    "size": int,
    "max": int,
}


class ProtocolError(Exception):
    """The other side sent something that is not a valid frame."""


@dataclass(frozen=True, slots=True)
class CallFrame:
    """An SDK call: one, or a batch with further parameters in ``each``."""

    method: str
    params: dict[str, Any]
    each: tuple[dict[str, Any], ...] = ()
    size: int = field(default=0, compare=False)  # of its frame, in bytes
    values: int = field(default=0, compare=False)  # in its parameters, keys included


@dataclass(frozen=True, slots=True)
class OutputFrame:
    """Printed text."""

    text: str


@dataclass(frozen=True, slots=True)
class ResultFrame:
    """The value of a script that succeeded, and its JSON as ``text``; None where it ended without a value."""

    value: Any
    text: str | None


@dataclass(frozen=True, slots=True)
class FailureFrame:
    """The error of a script that failed; ``partial`` is what its result held, ``text`` the JSON of that."""

    status: str
    error: dict[str, Any]
    partial: Any = None
    text: str | None = None


Frame = CallFrame | OutputFrame | ResultFrame | FailureFrame


def pack(body: bytes) -> bytes:
    """Pack a body into a frame: its length, then the body."""
    return HEADER.pack(len(body)) + body


def dump(value: Any) -> bytes:
    """Encode a value as compact JSON in UTF-8. Lone surrogates, which UTF-8 lacks, become question marks."""
    return _ENCODE(value).encode("utf-8", "replace")


_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def pack_for_child(value: Any) -> bytes:
    """Pack a value into a frame for the child."""
    return pack(encode_for_child(value))


def encode_for_child(value: Any) -> bytes:
    """Encode the body of such a frame. Values that marshal does not take are converted through JSON."""
    try:
        return marshal.dumps(value)
    except ValueError:
        return marshal.dumps(json.loads(json.dumps(value, allow_nan=False)))


def decode_from_parent(body: bytes) -> Any:
    """Decode the body of a frame from the parent."""
    return marshal.loads(body)


def longest_body(limits: Limits) -> int:
    """The length of the longest body that a child with these limits may send."""
    # A character of an error or of printed text may take four bytes.
    largest_result = max(limits.result_bytes, limits.kept_bytes) + 8 * ERROR_CHARS  # a partial one has an error
    return max(limits.request_bytes, largest_result, 4 * OUT_CHARS) + SLACK


def decode(body: bytes, limits: Limits) -> Frame:
    """Decode a hostile body. ProtocolError where it is not a valid frame."""
    frame = _parse(body)
    if not isinstance(frame, dict):
        raise ProtocolError("a frame is an object")
    kind = frozenset(frame)
    if kind in (_CALL, _CALLS):
        return _decode_call(frame, len(body), limits)
    if kind == _OUT:
        return OutputFrame(_decode_output(frame, body))
    if kind == _RESULT:
        return _decode_result(frame["result"], body, limits)
    if kind == _DONE and frame["done"] is True:
        return ResultFrame(None, None)
    if kind == _FAILURE:
        return _decode_failure(frame)
    if kind == _PARTIAL:
        return _decode_partial(frame, limits)
    raise ProtocolError("no frame has these keys")


_CALL, _OUT, _RESULT = frozenset({"call", "params"}), frozenset({"out"}), frozenset({"result"})
_CALLS = frozenset({"call", "params", "each"})
_DONE, _FAILURE = frozenset({"done"}), frozenset({"error", "status"})
_PARTIAL = frozenset({"error", "status", "partial"})


def _parse(body: bytes) -> Any:
    # A parsed value takes up to 34 times the memory of its text, so too many values are refused before parsing.
    if len(body) > RESULT_NODES and _has_too_many_values(body):
        raise ProtocolError("too many values")
    try:
        return _DECODE(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not JSON: {type(error).__name__}") from None


# A character that precedes a value or key, or a whole string, which contains none. An unclosed string is matched
# to the end: starting again at each quote would take quadratic time.
_STARTS = re.compile(rb'([\[{,:])|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def _has_too_many_values(body: bytes) -> bool:
    starts = (1 for match in _STARTS.finditer(body) if match.lastindex)
    return sum(itertools.islice(starts, RESULT_NODES)) == RESULT_NODES


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise ValueError("a duplicate key")
    return built


_DECODE = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_build_object).decode


def _decode_result(value: Any, body: bytes, limits: Limits) -> ResultFrame:
    check_data(value, limits.nesting)
    if len(body) > limits.result_bytes + len(_RESULT_HEAD) + 1:
        return ResultFrame(value, _text_of_large_result(body))  # too large in any encoding
    # Encoded again, not copied: a number may be four characters in the child's text and twenty in ours.
    return ResultFrame(value, _ENCODE(value))


_RESULT_HEAD = b'{"result":'


def _text_of_large_result(body: bytes) -> str:
    """The text of a large result as the child wrote it: it has been checked, and is not encoded again."""
    if not (body.startswith(_RESULT_HEAD) and body.endswith(b"}")):
        raise ProtocolError("a large result has another frame around it")
    return body[len(_RESULT_HEAD) : -1].decode()


def _decode_call(frame: dict[str, Any], size: int, limits: Limits) -> CallFrame:
    if size > limits.request_bytes:
        raise ProtocolError("a call is larger than request_bytes")
    method, params = frame["call"], frame["params"]
    if not isinstance(params, dict):
        raise ProtocolError("the parameters of a call are an object")
    each = _decode_batch(frame["each"]) if "each" in frame else ()
    values = check_data([params, *each], limits.nesting + 1)
    return CallFrame(_checked_text(method, METHOD_CHARS), params, each, size, values)


def _decode_batch(value: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(value, list) or not 0 < len(value) <= BATCH_CALLS:
        raise ProtocolError(f"a batch is a list of 1 to {BATCH_CALLS} objects")
    if not all(isinstance(params, dict) for params in value):
        raise ProtocolError("a batch holds objects of parameters")
    return tuple(value)


def _decode_output(frame: dict[str, Any], body: bytes) -> str:
    if frame["out"] == "":
        raise ProtocolError("nothing was printed")  # empty frames would not count against any limit
    text = _checked_text(frame["out"], OUT_CHARS)
    if body != dump(frame):
        raise ProtocolError("printed text is padded")  # the limit counts the text; reading costs the whole frame
    return text


def _checked_text(value: Any, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise ProtocolError("not a text of the agreed size")
    _check_text(value)
    return value


def _decode_failure(frame: dict[str, Any]) -> FailureFrame:
    status, error = frame["status"], frame["error"]
    if not isinstance(status, str) or status not in CHILD_STATUSES or not isinstance(error, dict):
        raise ProtocolError("no such ending")
    if not {"type", "message"} <= error.keys() or error.keys() - _ERROR_FIELDS.keys():
        raise ProtocolError("an error has other fields")
    for key, value in error.items():
        if type(value) is not _ERROR_FIELDS[key]:
            raise ProtocolError(f"{key} of an error has another type")
        if isinstance(value, str):
            _checked_text(value, ERROR_CHARS)
        elif isinstance(value, int) and not 0 <= value <= _MAX_NUMBER:
            raise ProtocolError(f"{key} of an error is out of range")
    return FailureFrame(status, error)


def _decode_partial(frame: dict[str, Any], limits: Limits) -> FailureFrame:
    failure = _decode_failure(frame)
    if failure.status not in PARTIAL_STATUSES:
        raise ProtocolError("a partial result without a limit")
    check_data(frame["partial"], limits.nesting)
    text = _ENCODE(frame["partial"])
    if len(text.encode()) > max(limits.result_bytes, limits.kept_bytes):
        raise ProtocolError("a partial result is larger than agreed")
    return replace(failure, partial=frame["partial"], text=text)


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ProtocolError("a lone surrogate") from None


def check_data(value: Any, nesting: int) -> int:
    """Check parsed JSON without recursion; returns how many values and keys it has.

    ProtocolError where it is too deep, too large or not plain data.
    """
    nodes = 0
    level: list[Any] = [value]
    for depth in range(nesting + 2):
        if not level:
            return nodes
        if depth > nesting:
            break
        nodes += len(level)
        if nodes > RESULT_NODES:
            raise ProtocolError("too many values")
        below: list[Any] = []
        for node in level:
            kind = type(node)
            if kind is str:
                if not node.isascii():
                    _check_text(node)
            elif kind is dict:
                below += node
                below += node.values()
            elif kind is list:
                below += node
            elif kind is int and node.bit_length() > INT_BITS:
                raise ProtocolError("an integer too wide")
            elif kind is float and node - node != 0:
                raise ProtocolError("a number that is not finite")
        level = below
    raise ProtocolError("nested too deeply")


class Splitter:
    """Splits a stream into the bodies of frames of at most ``longest`` bytes."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._pending = bytearray()

    def feed(self, data: bytes) -> None:
        """Add received data."""
        self._pending += data

    def next(self) -> bytes | None:
        """The next complete body, or None until more data arrives. ProtocolError when the frame is too long."""
        pending = self._pending
        if len(pending) < HEADER.size:
            return None
        (size,) = HEADER.unpack_from(pending)
        if size > self._longest:
            raise ProtocolError("a frame is longer than agreed")
        end = HEADER.size + size
        if len(pending) < end:
            return None
        body = bytes(pending[HEADER.size : end])
        del pending[:end]
        return body
