"""Names of connections: whose a session is, and how sure that is. Imports nothing of ours.

A connection's name is the key of its session, of its kept results and of its place in the queue for scripts. A
pipe, and an HTTP session of the handshake era, each have a name of their own, which nobody else can use. The 2026
protocol has no sessions over HTTP. There each answer hands out a token, and a request that returns it is *proven*
to come from the client that got it. A request without one is *unproven*, and gets the name that belongs to a new
token.

Clients that never return a token must still be able to read on in their own answers. So what an unproven session
holds is found by its own id, which cannot be guessed, from any connection of this kind, until a token proves
whose the session is. From then on that client alone reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

_UNPROVEN, _PROVEN = "unproven:", "proven:"


@dataclass(frozen=True, slots=True)
class Identity:
    """What a connection's name says: ``key``, by which its session is found, and the two facts about it.

    ``is_shared``: the 2026 protocol over HTTP, where ids alone may lead to what they name. ``is_proven``: a token
    says that the session is this client's.
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
    """What a connection's name says.

    >>> identity_of("unproven:a1"), identity_of("stdio")
    (Identity(key='a1', is_shared=True, is_proven=False), Identity(key='stdio', is_shared=False, is_proven=True))
    """
    for prefix, is_proven in ((_UNPROVEN, False), (_PROVEN, True)):
        if connection.startswith(prefix):
            return Identity(connection.removeprefix(prefix), is_shared=True, is_proven=is_proven)
    return Identity(connection)


def queue_key(connection: str) -> str:
    """Whose turn a script of this connection takes: requests without a token share one."""
    identity = identity_of(connection)
    return connection if identity.is_proven else _UNPROVEN
