"""Identities of connections: which session a connection owns, and whether that is proven.

A connection's name is the key of its session, of its stored results and of its turn in the queue for scripts. A
pipe, and an HTTP session of the protocol with a handshake, each have a name that no other client can use. The 2026
protocol has no sessions over HTTP. There each answer contains a token, and a request that returns it is *proven*
to come from the client that received it. A request without a token is *unproven* and gets the name of a new token.

Clients that never return a token must still be able to read on in their own answers. So the contents of an
unproven session can be read from any connection of this kind with an id, which cannot be guessed, until a token
proves the session's owner. From then on only that client can read it.
"""

from __future__ import annotations

from dataclasses import dataclass

_UNPROVEN, _PROVEN = "unproven:", "proven:"


@dataclass(frozen=True, slots=True)
class Identity:
    """The parsed name of a connection: ``key`` identifies its session.

    ``is_shared``: the 2026 protocol over HTTP, where an id alone may grant access. ``is_proven``: a token proved
    that the session belongs to this client.
    """

    key: str
    is_shared: bool = False
    is_proven: bool = True


def unproven_name(key: str) -> str:
    """The name of a connection that returned no token."""
    return _UNPROVEN + key


def proven_name(key: str) -> str:
    """The name of a connection that returned its token."""
    return _PROVEN + key


def identity_of(connection: str) -> Identity:
    """Parse the name of a connection.

    >>> identity_of("unproven:a1"), identity_of("stdio")
    (Identity(key='a1', is_shared=True, is_proven=False), Identity(key='stdio', is_shared=False, is_proven=True))
    """
    for prefix, is_proven in ((_UNPROVEN, False), (_PROVEN, True)):
        if connection.startswith(prefix):
            return Identity(connection.removeprefix(prefix), is_shared=True, is_proven=is_proven)
    return Identity(connection)


def queue_key(connection: str) -> str:
    """The key for the queue of scripts: requests without a token share one."""
    identity = identity_of(connection)
    return connection if identity.is_proven else _UNPROVEN
