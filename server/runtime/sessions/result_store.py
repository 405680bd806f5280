"""The result store: complete script results that were too large to be sent, by connection.

Bounded like the passage store: LRU eviction over all connections, and a time to live. An id of another connection,
an expired one and an invented one are all unknown and cannot be distinguished (owners.py).
"""

from __future__ import annotations

import re
import secrets
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import TTLCache

from winnow.server.runtime.sessions.owners import Owners, key_of

URI_TEMPLATE = "winnow://result/{execution_id}"

_ID_BYTES = 8
_URI = re.compile(rf"winnow://result/([0-9a-f]{{{2 * _ID_BYTES}}})")
MAX_BYTES = 16 * 1024 * 1024  # more than a hundred results of the maximum size
_ENTRY_BYTES = 512  # memory of an entry besides its text


def new_execution_id() -> str:
    """A random id for one execution: 16 hexadecimal digits."""
    return secrets.token_hex(_ID_BYTES)


def parse_uri(uri: str) -> str | None:
    """The execution id of a result's URI; None if it is not exactly one.

    >>> parse_uri("winnow://result/0123456789abcdef")
    '0123456789abcdef'
    """
    match = _URI.fullmatch(uri)
    return match[1] if match else None


class ResultStore:
    """The large results of all connections of one process. Thread-safe.

    ``max_bytes``: memory of all texts. ``ttl_seconds``: lifetime of a result. ``now``: a clock in seconds.
    """

    def __init__(
        self, ttl_seconds: float, max_bytes: int = MAX_BYTES, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._lock = threading.Lock()
        self._texts: TTLCache[tuple[str, str], _StoredResult] = TTLCache(
            max_bytes, ttl_seconds, timer=now, getsizeof=lambda stored: _ENTRY_BYTES + sys.getsizeof(stored.text)
        )
        self._owners = Owners()

    def put(self, connection: str, execution_id: str, text: str) -> bool:
        """Store the JSON of a result; False if it is larger than the whole store."""
        with self._lock:
            identity = self._owners.identify(connection)
            try:
                self._texts[key_of(identity, execution_id)] = _StoredResult(identity.key, text)
            except ValueError:
                return False
            return True

    def get(self, connection: str, execution_id: str) -> str | None:
        """The result with this id, marked as used; None if this connection may not read it or it is not stored."""
        with self._lock:
            identity = self._owners.identify(connection)
            stored: _StoredResult | None = self._texts.get(key_of(identity, execution_id))
            if stored is None or not self._owners.may_read(identity, stored.owner):
                return None
            return stored.text


@dataclass(frozen=True, slots=True)
class _StoredResult:
    owner: str
    text: str
