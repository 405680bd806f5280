"""Results that were too large to be sent, whole, for the connection whose script returned them.

Bounded like the passages of a session (scratch.py): what nobody has used for longest leaves first, whoever it is
of, and what is older than the time to live is gone. An id of another connection, an expired one and an invented
one are all unknown, and cannot be told apart. Where the protocol has no connections (identities.py), the id alone
leads to a result, until a token proves whose it is.
"""

from __future__ import annotations

import re
import secrets
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache, TTLCache

from server.sessions.identities import Identity, identity_of

URI_TEMPLATE = "winnow://result/{execution_id}"

_ID_BYTES = 8
_URI = re.compile(rf"winnow://result/([0-9a-f]{{{2 * _ID_BYTES}}})")
MAX_BYTES = 16 * 1024 * 1024  # more than a hundred of the largest there can be
_ENTRY_BYTES = 512  # keys and links around a text
_MOST_PROVEN = 10_000  # as many as there are sessions (scratch.py)
_SHARED = "shared"  # stands for the connection in the key of a result that its id alone leads to


def new_execution_id() -> str:
    """A name for one execution, that nobody can work out from another: 16 hexadecimal digits."""
    return secrets.token_hex(_ID_BYTES)


def parse_uri(uri: str) -> str | None:
    """The execution id of a result's URI; None for anything that is not one, to the letter.

    >>> parse_uri("winnow://result/0123456789abcdef")
    '0123456789abcdef'
    """
    match = _URI.fullmatch(uri)
    return match[1] if match else None


class ResultStore:
    """The store of one process, for all its connections; threads may use it at the same time.

    ``max_bytes`` bounds what its texts take in memory, ``ttl_seconds`` how long one is kept; ``now`` tells seconds
    from any fixed moment.
    """

    def __init__(
        self, ttl_seconds: float, max_bytes: int = MAX_BYTES, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._lock = threading.Lock()
        self._texts: TTLCache[tuple[str, str], _Text] = TTLCache(
            max_bytes, ttl_seconds, timer=now, getsizeof=lambda kept: _ENTRY_BYTES + sys.getsizeof(kept.text)
        )
        self._proven: LRUCache[str, None] = LRUCache(_MOST_PROVEN)

    def put(self, connection: str, execution_id: str, text: str) -> bool:
        """Keep the JSON of a result; False where it is larger than the whole store."""
        with self._lock:
            identity = self._identity(connection)
            try:
                self._texts[_key(identity, execution_id)] = _Text(identity.key, text)
            except ValueError:
                return False
            return True

    def get(self, connection: str, execution_id: str) -> str | None:
        """What this connection may read under this id, which counts as a use; None for whatever else."""
        with self._lock:
            identity = self._identity(connection)
            kept: _Text | None = self._texts.get(_key(identity, execution_id))
            if kept is None or (kept.owner != identity.key and kept.owner in self._proven):
                return None
            return kept.text

    def _identity(self, connection: str) -> Identity:
        identity = identity_of(connection)
        if identity.is_shared and identity.is_proven:
            self._proven[identity.key] = None
        return identity


@dataclass(frozen=True, slots=True)
class _Text:
    owner: str
    text: str


def _key(identity: Identity, execution_id: str) -> tuple[str, str]:
    return (_SHARED if identity.is_shared else identity.key, execution_id)
