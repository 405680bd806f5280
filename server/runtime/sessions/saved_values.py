"""Values that the scripts of a session saved for the next ones.

A value is a text that only scripts of the same session read: it is stored and returned as it came, never parsed. A
session is found by the connection of the call; its name is no key, so there is nothing to guess. Each session has
one bound for all its values. All sessions share another, with LRU eviction of whole sessions, and a time to live
that begins again at each use.

A value may be larger than one call of a script, so it comes in pieces. The pieces of one run are collected apart
and become the value at once, with the last one: other scripts see the old value or the new one. Reading is in
pieces as well; ``version`` shows the reader that a value changed between two of them.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cachetools import LRUCache, TTLCache

from winnow.server.errors import WinnowError
from winnow.server.runtime.sessions.identities import identity_of
from winnow.server.text.sizes import describe_bytes

MIB = 1024 * 1024
SESSION_BYTES = 1 * MIB  # of names and values of one session
SESSION_NAMES = 100
MAX_BYTES = 64 * MIB  # of all sessions
_PENDING_BYTES = 16 * MIB  # of values whose last piece has not come
_PORTION_CHARS = 200_000  # of one answer, which holds 1 MiB
# Memory besides the texts, of a session and of a value.
_SESSION_OVERHEAD, _VALUE_OVERHEAD = 1024, 256
_REMOVED = b"null"

_Key = tuple[bool, str]  # whether it is shared, and the key of its identity


@dataclass(frozen=True, slots=True)
class Portion:
    """A part of a value's text; ``following`` is where the next part begins, None at the end."""

    text: str
    version: int
    following: int | None


@dataclass(frozen=True, slots=True)
class _Value:
    text: bytes
    version: int


@dataclass(frozen=True, slots=True)
class _Pending:
    name: str
    text: bytes


_Values = Mapping[str, _Value]
_NONE: _Values = MappingProxyType({})


class SavedValues:
    """The saved values of all sessions of one process. Thread-safe.

    ``ttl_seconds``: how long a session's values stay after their last use. ``max_bytes``: memory of all of them.
    ``now``: a clock in seconds.
    """

    def __init__(
        self, ttl_seconds: float, max_bytes: int = MAX_BYTES, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._lock = threading.Lock()
        self._sessions: TTLCache[_Key, _Values] = TTLCache(max_bytes, ttl_seconds, timer=now, getsizeof=_memory_of)
        self._pending: LRUCache[tuple[_Key, str], _Pending] = LRUCache(
            _PENDING_BYTES, getsizeof=lambda pending: _VALUE_OVERHEAD + len(pending.text)
        )
        self._versions = itertools.count(1)

    def save(self, connection: str, run: str, name: str, text: str, start: int, size: int) -> None:
        """Add a piece of a value of ``size`` bytes, and store the value with its last piece.

        ``run``: the run of the script; ``start``: how many bytes came before. The value "null" removes the name.

        Raises:
            WinnowError: STATE_FULL if the session has no room for the value or the name; INVALID_REQUEST if the
                pieces do not fit together.
        """
        piece, key = text.encode("utf-8", "surrogatepass"), _key_of(connection)
        with self._lock:
            values = self._sessions.get(key, _NONE)
            if not start and piece == _REMOVED and size == len(_REMOVED):
                self._put(key, {other: value for other, value in values.items() if other != name})
                return
            _check_room(values, name, size)
            before = self._pending.pop((key, run), None) if start else None
            whole = piece if before is None or before.name != name else before.text + piece
            if len(whole) != start + len(piece) or len(whole) > size or not piece:
                raise WinnowError(
                    "INVALID_REQUEST", f"save: the pieces of {name!r} do not fit together; save it again"
                )
            if len(whole) < size:
                self._pending[key, run] = _Pending(name, whole)
            else:
                others = {other: value for other, value in values.items() if other != name}
                self._put(key, {**others, name: _Value(whole, next(self._versions))})

    def load(self, connection: str, name: str, start: int) -> Portion | None:
        """The part of a value that begins at character ``start``; None if this session has no such name."""
        key = _key_of(connection)
        with self._lock:
            values = self._sessions.get(key, _NONE)
            value = values.get(name)
            if value is None:
                return None
            self._sessions[key] = values  # the time to live begins again
        text = value.text.decode("utf-8", "surrogatepass")
        end = start + _PORTION_CHARS
        return Portion(text[start:end], value.version, end if end < len(text) else None)

    def sizes(self, connection: str) -> Mapping[str, int]:
        """The names of this session and the bytes of their values; the latest saved last."""
        with self._lock:
            values = self._sessions.get(_key_of(connection), _NONE)
        return {name: len(value.text) for name, value in values.items()}

    def _put(self, key: _Key, values: _Values) -> None:
        if values:
            self._sessions[key] = values
        else:
            self._sessions.pop(key, None)


def _key_of(connection: str) -> _Key:
    identity = identity_of(connection)
    return identity.is_shared, identity.key


def _memory_of(values: _Values) -> int:
    return _SESSION_OVERHEAD + sum(map(_VALUE_OVERHEAD.__add__, _sizes_of(values)))


def _sizes_of(values: _Values) -> list[int]:
    return [len(name.encode()) + len(value.text) for name, value in values.items()]


def _check_room(values: _Values, name: str, size: int) -> None:
    """Refuse a value that does not fit beside the others."""
    others = {other: value for other, value in values.items() if other != name}
    if len(others) >= SESSION_NAMES:
        raise WinnowError(
            "STATE_FULL",
            f"a session keeps {SESSION_NAMES} names; save(name, None) removes one, saved() lists them",
        )
    left = SESSION_BYTES - sum(_sizes_of(others)) - len(name.encode())
    if size > left:
        raise WinnowError(
            "STATE_FULL",
            f"a session keeps {describe_bytes(SESSION_BYTES)} under save; {describe_bytes(max(left, 0))} are left "
            f"for {name!r} and this value has {describe_bytes(size)}; save ids and numbers instead of texts, or "
            "make room with save(name, None); saved() lists names and sizes",
        )
