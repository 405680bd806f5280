"""Owners of what is kept for connections, and the rule for who may read it.

What is kept for a connection of its own can be read by that connection alone. In the protocol without connections
(identities.py) the id alone grants access, until a token proves its owner.
"""

from __future__ import annotations

from cachetools import LRUCache

from winnow.server.runtime.sessions.identities import Identity, identity_of

_MAX_PROVEN = 10_000  # as many as there are sessions (passage_store.py)
_SHARED = "shared"  # replaces the connection in the key of what its id alone gives access to


class Owners:
    """The clients that returned a token of theirs. Not thread-safe."""

    def __init__(self) -> None:
        self._proven: LRUCache[str, None] = LRUCache(_MAX_PROVEN)

    def identify(self, connection: str) -> Identity:
        """The identity of a connection, which is remembered where a token proves it."""
        identity = identity_of(connection)
        if identity.is_shared and identity.is_proven:
            self._proven[identity.key] = None
        return identity

    def may_read(self, identity: Identity, owner: str) -> bool:
        """Whether this client may read what is kept under ``key_of`` for the owner with this key."""
        return owner == identity.key or owner not in self._proven


def key_of(identity: Identity, kept_id: str) -> tuple[str, str]:
    """The key under which something with this id is kept for a client."""
    return (_SHARED if identity.is_shared else identity.key, kept_id)
