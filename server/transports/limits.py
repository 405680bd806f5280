"""Rate limits: a sliding window per kind of call, for each client and each address.

A client can get a new session whenever it asks, and must not get a new limit with it. So all sessions from one
address share one limit as well. A client with an access key is the key, whatever its sessions are; several keys
may share an address, such as that of an office or a proxy, so the limit of their address is higher.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType

from server.errors import WinnowError
from server.sessions.identities import Identity, identity_of
from server.settings import Settings

WINDOW_SECONDS = 60.0
_KEYS_PER_ADDRESS = 10  # at their full rate


def calls_per_minute(settings: Settings) -> Mapping[str, int]:
    """Calls per minute for one client, and for one address, by kind.

    An agent makes a handful; a faulty loop makes thousands. "read" is everything that is not a tool: resources,
    prompts, completions.
    """
    return MappingProxyType(
        {
            "direct": settings.calls_per_minute,
            "script": settings.scripts_per_minute,
            "read": settings.reads_per_minute,
        }
    )


class RateLimit:
    """The times at which each client called within the window."""

    def __init__(self, settings: Settings, now: Callable[[], float] = time.monotonic) -> None:
        self._allowed = calls_per_minute(settings)
        self._now = now
        self._calls: dict[tuple[str, str, str], deque[float]] = {}

    def take(self, client: str, kind: str, address: str = "") -> None:
        """Count one call of this client from this address ("" where there is none, as on a pipe).

        Raises:
            WinnowError: RATE_LIMIT with the seconds until the next call is accepted.
        """
        now = self._now()
        self._forget(now)
        limits = self._limits_of(identity_of(client), kind, address)
        for key, allowed in limits.items():
            _check(kind, allowed, self._calls.get(key, deque()), now)
        for key in limits:
            self._calls.setdefault(key, deque()).append(now)

    def _limits_of(self, identity: Identity, kind: str, address: str) -> dict[tuple[str, str, str], int]:
        """The calls per minute that are allowed, for the client and its address.

        The address comes first: once its limit is used up, new sessions add nothing to the table.
        """
        allowed = of_address = self._allowed[kind]
        if identity.access_key:
            own = identity.calls_per_minute or allowed
            # A key's own rate is for direct calls; of others it never allows more than the server does.
            allowed = own if kind == "direct" else min(own, allowed)
            of_address = max(_KEYS_PER_ADDRESS * of_address, allowed)
        client = {("client", identity.key, kind): allowed}
        return {("address", address, kind): of_address, **client} if address else client

    def _forget(self, now: float) -> None:
        for key, calls in list(self._calls.items()):
            while calls and calls[0] <= now - WINDOW_SECONDS:
                calls.popleft()
            if not calls:
                del self._calls[key]


def _check(kind: str, allowed: int, calls: deque[float], now: float) -> None:
    """Raises ``WinnowError("RATE_LIMIT")`` if as many calls as are allowed are within the window."""
    if len(calls) >= allowed:
        # The call that must leave the window before another is accepted.
        wait = round(calls[-allowed] + WINDOW_SECONDS - now, 1)
        raise WinnowError(
            "RATE_LIMIT",
            f"the limit of {allowed} {kind} calls per minute is used up; try again in {wait} s, or do the work "
            "of many calls in one execute_code script",
            retryable=True,
            retry_after_s=wait,
        )
