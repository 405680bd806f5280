"""Frames between a child and its parent. No I/O here; both ends use this file.

A frame is four bytes of length, big-endian, and a body. The two directions differ, because trust does:

    child -> parent   JSON, decoded as hostile text: bounded before it is parsed, then checked node by node
    parent -> child   marshal, the fastest codec there is; the child trusts its parent with everything anyway

What a child may say (one key names the frame):

    {"call": METHOD, "params": {...}}     an SDK call; the parent answers before it reads on
    {"call": ..., "params": ..., "each": [{...}, ...]}
                                          the same call once for each, with these parameters besides
    {"out": TEXT}                         printed text, at most OUT_CHARS of it, exactly as `dump` writes it
    {"result": VALUE}                     the end, well
    {"done": true}                        the end, well, without a value: what was printed is the result
    {"error": {...}, "status": STATUS}    the end, not so well

Anything else is a ProtocolError, and the child does not survive it.
"""

from __future__ import annotations

import itertools
import json
import marshal
import re
import struct
from dataclasses import dataclass, field
from typing import Any

from .limits import KIB, Limits

HEADER = struct.Struct(">I")

OUT_CHARS = 4 * KIB  # one frame of printed text; a killed child loses at most what it had not filled
METHOD_CHARS = 64
ERROR_CHARS = 8 * KIB  # a message, a source line and a hint
SLACK = 4 * KIB  # keys and braces around a payload of the largest size
BATCH_CALLS = 50  # calls in one frame; the answers of one batch fill about one reply
INT_BITS = 1023  # the widest integer that every JSON reader can hold as a finite double
RESULT_NODES = 200_000  # a result of 32 KiB has at most half of 32 Ki nodes; this is for wider settings

_MOST_LINES = 10_000_000

FINAL_STATUSES = frozenset({"error", "rejected", "memory", "limit"})
_ERROR_FIELDS: dict[str, type] = {
    "type": str,
    "message": str,
    "line": int,
    "column": int,
    "source_line": str,
    "hint": str,
}


class ProtocolError(Exception):
    """The other side sent something that is not a frame."""


@dataclass(frozen=True, slots=True)
class CallFrame:
    """The script calls the host: once, or once for each of these further parameters."""

    method: str
    params: dict[str, Any]
    each: tuple[dict[str, Any], ...] = ()
    size: int = field(default=0, compare=False)  # of its frame, in bytes: what it cost to read


@dataclass(frozen=True, slots=True)
class OutputFrame:
    """The script printed."""

    text: str


@dataclass(frozen=True, slots=True)
class ResultFrame:
    """The script ended with this value; ``text`` is the JSON that leaves. No text: it ended without a value."""

    value: Any
    text: str | None


@dataclass(frozen=True, slots=True)
class FailureFrame:
    """The script ended otherwise."""

    status: str
    error: dict[str, Any]


Frame = CallFrame | OutputFrame | ResultFrame | FailureFrame


def pack(body: bytes) -> bytes:
    """A body with its length in front."""
    return HEADER.pack(len(body)) + body


def dump(value: Any) -> bytes:
    """A value as compact JSON in UTF-8. Lone surrogates, which UTF-8 has not, become question marks."""
    return _ENCODE(value).encode("utf-8", "replace")


_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def pack_for_child(value: Any) -> bytes:
    """A frame for the child."""
    return pack(encode_for_child(value))


def encode_for_child(value: Any) -> bytes:
    """Its body alone. Values of foreign types travel as the JSON they stand for."""
    try:
        return marshal.dumps(value)
    except ValueError:
        return marshal.dumps(json.loads(json.dumps(value, allow_nan=False)))


def decode_from_parent(body: bytes) -> Any:
    """The value in a frame of the parent's."""
    return marshal.loads(body)


def longest_body(limits: Limits) -> int:
    """The longest body a child with these limits may send."""
    # Every character of an error or of printed text may take four bytes.
    return (
        max(limits.request_bytes, limits.result_bytes, limits.kept_bytes, 4 * OUT_CHARS, 8 * ERROR_CHARS) + SLACK
    )


def decode(body: bytes, limits: Limits) -> Frame:
    """A hostile body as a frame, or ProtocolError."""
    frame = _parse(body)
    if not isinstance(frame, dict):
        raise ProtocolError("a frame is an object")
    kind = frozenset(frame)
    if kind in (_CALL, _CALLS):
        return _call(frame, len(body), limits)
    if kind == _OUT:
        return OutputFrame(_printed(frame, body))
    if kind == _RESULT:
        return _result(frame["result"], body, limits)
    if kind == _DONE and frame["done"] is True:
        return ResultFrame(None, None)
    if kind == _FAILURE:
        return _failure(frame)
    raise ProtocolError("no frame has these keys")


_CALL, _OUT, _RESULT = frozenset({"call", "params"}), frozenset({"out"}), frozenset({"result"})
_CALLS = frozenset({"call", "params", "each"})
_DONE, _FAILURE = frozenset({"done"}), frozenset({"error", "status"})


def _parse(body: bytes) -> Any:
    # A value takes a byte or more of text, and up to 34 times that when parsed: too many are refused before it.
    if len(body) > RESULT_NODES and _may_be_too_many(body):
        raise ProtocolError("too many values")
    try:
        return _DECODE(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"not JSON: {type(error).__name__}") from None


# What stands in front of a value or key, or a text, in which nothing does. To the end where no quote closes it:
# starting again at each quote would take the square of the time.
_STARTS = re.compile(rb'([\[{,:])|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def _may_be_too_many(body: bytes) -> bool:
    starts = (1 for found in _STARTS.finditer(body) if found.lastindex)
    return sum(itertools.islice(starts, RESULT_NODES)) == RESULT_NODES


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


_DECODE = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_unique).decode


def _result(value: Any, body: bytes, limits: Limits) -> ResultFrame:
    check_data(value, limits.nesting)
    if len(body) > limits.result_bytes + len(_RESULT_HEAD) + 1:
        return ResultFrame(value, _own_text(body))  # too large, however it is written
    # Not the child's own text: a number of four characters there may be one of twenty when it leaves.
    return ResultFrame(value, _ENCODE(value))


_RESULT_HEAD = b'{"result":'


def _own_text(body: bytes) -> str:
    """A large result as the child wrote it, which has been parsed and looked at: nothing is encoded twice."""
    if not (body.startswith(_RESULT_HEAD) and body.endswith(b"}")):
        raise ProtocolError("a large result has another frame around it")
    return body[len(_RESULT_HEAD) : -1].decode()


def _call(frame: dict[str, Any], size: int, limits: Limits) -> CallFrame:
    if size > limits.request_bytes:
        raise ProtocolError("a call is larger than request_bytes")
    method, params = frame["call"], frame["params"]
    if not isinstance(params, dict):
        raise ProtocolError("the parameters of a call are an object")
    check_data(params, limits.nesting)
    each = _each(frame["each"], limits) if "each" in frame else ()
    return CallFrame(_text(method, METHOD_CHARS), params, each, size)


def _each(value: Any, limits: Limits) -> tuple[dict[str, Any], ...]:
    if not isinstance(value, list) or not 0 < len(value) <= BATCH_CALLS:
        raise ProtocolError(f"a batch is a list of 1 to {BATCH_CALLS} objects")
    if not all(isinstance(params, dict) for params in value):
        raise ProtocolError("a batch holds objects of parameters")
    check_data(value, limits.nesting)
    return tuple(value)


def _printed(frame: dict[str, Any], body: bytes) -> str:
    if frame["out"] == "":
        raise ProtocolError("nothing was printed")  # a flood of it would be counted by nobody
    text = _text(frame["out"], OUT_CHARS)
    if body != dump(frame):
        raise ProtocolError("printed text is padded")  # the text is what is counted, and the frame what is read
    return text


def _text(value: Any, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise ProtocolError("not a text of the agreed size")
    _check_text(value)
    return value


def _failure(frame: dict[str, Any]) -> FailureFrame:
    status, error = frame["status"], frame["error"]
    if not isinstance(status, str) or status not in FINAL_STATUSES or not isinstance(error, dict):
        raise ProtocolError("no such ending")
    if not {"type", "message"} <= error.keys() or error.keys() - _ERROR_FIELDS.keys():
        raise ProtocolError("an error has other fields")
    for key, value in error.items():
        if type(value) is not _ERROR_FIELDS[key]:
            raise ProtocolError(f"{key} of an error has another type")
        if isinstance(value, str):
            _text(value, ERROR_CHARS)
        elif isinstance(value, int) and not 0 <= value <= _MOST_LINES:
            raise ProtocolError(f"{key} of an error is out of range")
    return FailureFrame(status, error)


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ProtocolError("a lone surrogate") from None


def check_data(value: Any, nesting: int) -> None:
    """Walk parsed JSON without recursion; ProtocolError where it is too deep, too wide or not plain."""
    nodes = 0
    level: list[Any] = [value]
    for depth in range(nesting + 2):
        if not level:
            return
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
    """Cuts a stream into bodies. Feeding never holds more than one frame of ``longest`` bytes."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._pending = bytearray()

    def feed(self, data: bytes) -> None:
        """Take what arrived."""
        self._pending += data

    def next(self) -> bytes | None:
        """The next whole body, or None when more must arrive. ProtocolError when it is announced too long."""
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
