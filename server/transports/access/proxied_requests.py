"""Requests in progress through proxies, counted by the address that they are for.

Without a proxy, the connections of an address are counted (``connections.py``). Those of a proxy are of all its
clients: counted as one address, a client that keeps event streams open would lock out the others. So there the
requests in progress are counted, for each client that the proxy names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import Scope

from winnow.server.transports.addresses import group_of
from winnow.server.transports.connections import CONNECTIONS_PER_ADDRESS

# In a request's scope: the address as limits count it, for which a proxy sent the request.
PROXIED_FOR = "winnow.proxied-for"


class ProxiedRequests:
    """The requests in progress through proxies. ``most``: of one address."""

    def __init__(self, most: int = CONNECTIONS_PER_ADDRESS) -> None:
        self._most = most
        self._running: Counter[str] = Counter()

    def is_full(self, scope: Scope) -> bool:
        """Whether the address of this request has as many in progress as it may."""
        return self._running[scope.get(PROXIED_FOR, "")] >= self._most

    @contextmanager
    def request(self, scope: Scope) -> Iterator[None]:
        """A request while it is answered."""
        address = scope.get(PROXIED_FOR, "")
        if not address:
            yield
            return
        self._running[address] += 1
        try:
            yield
        finally:
            self._running[address] -= 1
            if not self._running[address]:
                del self._running[address]


def note_proxy(scope: Scope, client: str) -> None:
    """State the client for whom a proxy sent this request."""
    scope["client"] = (client, 0)
    scope[PROXIED_FOR] = group_of(client)
