"""Identities of connections: which session a connection owns, and whether that is proven.

A connection's name is the key of its session, of its stored results and of its turn in the queue for scripts. A
pipe, and an HTTP session of the protocol with a handshake, each have a name that no other client can use. The 2026
protocol has no sessions over HTTP. There each answer contains a token, and a request that returns it is *proven*
to come from the client that received it. A request without a token is *unproven* and gets the name of a new token.

Clients that never return a token must still be able to read on in their own answers. So the contents of an
unproven session can be read from any connection of this kind with an id, which cannot be guessed, until a token
proves the session's owner. From then on only that client can read it.

A client with an access key is identified by the key alone, whatever its connections and tokens are: all of them
share one session. The name of its connection also states the rights of the key, so that they reach every place
that the name reaches, such as another process, and no code has to pass them on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from winnow.server.runtime.audit import fingerprint

_UNPROVEN, _PROVEN, _KEY = "unproven:", "proven:", "key:"
_READ_ONLY, _ALL_TOOLS = "read-only", "all-tools"


@dataclass(frozen=True, slots=True)
class Identity:
    """The parsed name of a connection: ``key`` identifies its session.

    ``is_shared``: the 2026 protocol over HTTP, where an id alone may grant access. ``is_proven``: a token proved
    that the session belongs to this client. The others are rights of an access key: ``access_key`` is its id, ""
    without one; ``projects`` those that it reaches, empty for all that the server reaches; ``calls_per_minute``
    its own limit, None for that of the server.
    """

    key: str
    is_shared: bool = False
    is_proven: bool = True
    access_key: str = ""
    projects: tuple[str, ...] = ()
    is_read_only: bool = False
    calls_per_minute: int | None = None


def unproven_name(key: str) -> str:
    """The name of a connection that returned no token."""
    return _UNPROVEN + key


def proven_name(key: str) -> str:
    """The name of a connection that returned its token."""
    return _PROVEN + key


def key_name(key_id: str, projects: Sequence[str], *, is_read_only: bool, calls_per_minute: int | None) -> str:
    """The name of the connections of a client with this access key.

    >>> key_name("1f0c9a2b", ["a", "b/c"], is_read_only=True, calls_per_minute=None)
    'key:1f0c9a2b:read-only::a,b/c'
    """
    tools = _READ_ONLY if is_read_only else _ALL_TOOLS
    return f"{_KEY}{key_id}:{tools}:{calls_per_minute or ''}:{','.join(projects)}"


def identity_of(connection: str) -> Identity:
    """Parse the name of a connection.

    >>> identity_of("stdio").is_proven, identity_of("unproven:a1").is_proven
    (True, False)
    """
    if connection.startswith(_KEY):
        return _identity_of_key(connection.removeprefix(_KEY))
    for prefix, is_proven in ((_UNPROVEN, False), (_PROVEN, True)):
        if connection.startswith(prefix):
            return Identity(connection.removeprefix(prefix), is_shared=True, is_proven=is_proven)
    return Identity(connection)


def _identity_of_key(rest: str) -> Identity:
    """The identity of ``ID:TOOLS:RATE:PROJECTS``. Names of projects hold no colons and no commas."""
    key_id, tools, rate, projects = rest.split(":")
    return Identity(
        _KEY + key_id,
        access_key=key_id,
        projects=tuple(projects.split(",")) if projects else (),
        is_read_only=tools != _ALL_TOOLS,
        calls_per_minute=int(rate) if rate else None,
    )


def describe_client(connection: str) -> Mapping[str, str]:
    """The fields of an audit record that identify the client: a hash, and the id of its access key, if any."""
    identity = identity_of(connection)
    if identity.access_key:
        return {"client": fingerprint(identity.key), "key": identity.access_key}
    return {"client": fingerprint(connection)}


def queue_key(connection: str) -> str:
    """The key for the queue of scripts: requests without a token share one."""
    identity = identity_of(connection)
    return identity.key if identity.is_proven else _UNPROVEN
