"""Rate limits: a sliding window per kind of call, for each client and each address.

A client can get a new session whenever it asks, and must not get a new limit with it. So all sessions from one
address share one limit as well. A client with an access key is the key, whatever its sessions are; several keys
may share an address, such as that of an office or a proxy, so the limit of their address is higher. Direct
calls of a key with a rate of its own count for the key alone.

Over HTTP, a client that goes on calling while it is refused waits longer and longer: once it was refused as often
as it may call in a minute, each further refusal within an hour doubles its wait, up to 15 minutes. On a pipe there
is one local client, whose loop the limit alone ends.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType

from winnow.server.errors import WinnowError
from winnow.server.runtime.sessions.identities import Identity, identity_of
from winnow.server.settings.settings import Settings
from winnow.server.transports.access.failed_attempts import FailedAttempts

WINDOW_SECONDS = 60.0
_KEYS_PER_ADDRESS = 10  # at their full rate
_KINDS: Mapping[str, str] = MappingProxyType(
    {"direct": "calls", "script": "scripts", "read": "requests for resources, prompts and lists"}
)
_ADVICE = ", or do the work of many calls in one script (execute_code)"


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
        self._advice = _ADVICE if settings.execute_code == "on" else ""
        self._now = now
        self._calls: dict[tuple[str, str, str], deque[float]] = {}
        self._allowed_of: dict[tuple[str, str, str], int] = {}
        self._refusals = FailedAttempts(now)

    def take(self, client: str, kind: str, address: str = "") -> None:
        """Count one call of this client from this address ("" where there is none, as on a pipe).

        Raises:
            WinnowError: RATE_LIMIT with the seconds until the next call is accepted.
        """
        now = self._now()
        self._forget(now)
        limits = self._limits_of(identity_of(client), kind, address)
        for key, allowed in limits.items():
            wait = _wait(allowed, self._calls.get(key, deque()), now)
            wait = max(wait, self._back_off(":".join(key), allowed, is_refused=wait > 0) if address else 0.0)
            if wait > 0:
                raise self._refusal(kind, allowed, wait)
        for key, allowed in limits.items():
            self._calls.setdefault(key, deque()).append(now)
            self._allowed_of[key] = allowed

    def rates(self) -> dict[str, dict[str, int]]:
        """By kind: the calls in the window of who is nearest to a limit, and that limit."""
        self._forget(self._now())
        nearest: dict[str, tuple[int, int]] = {}
        for key, calls in self._calls.items():
            of_key = len(calls), self._allowed_of[key]
            nearest[key[2]] = max(nearest.get(key[2], of_key), of_key, key=lambda pair: pair[0] / pair[1])
        return {kind: {"most_calls": calls, "allowed": allowed} for kind, (calls, allowed) in nearest.items()}

    def _back_off(self, key: str, allowed: int, *, is_refused: bool) -> float:
        """The seconds that a client or an address has to wait for its earlier refusals and this one."""
        wait = self._refusals.wait(key)
        return self._refusals.add(key, free=allowed) if is_refused and not wait else wait

    def _refusal(self, kind: str, allowed: int, seconds: float) -> WinnowError:
        wait = max(0.1, round(seconds, 1))
        return WinnowError(
            "RATE_LIMIT",
            f"the limit of {_KINDS[kind]} is reached, {allowed} a minute; try again in {wait:g} s"
            f"{self._advice if kind == 'direct' else ''}",
            retryable=True,
            retry_after_s=wait,
        )

    def _limits_of(self, identity: Identity, kind: str, address: str) -> dict[tuple[str, str, str], int]:
        """The calls per minute that are allowed, for the client and its address.

        The address comes first: once its limit is used up, new sessions add nothing to the table.
        """
        allowed = of_address = self._allowed[kind]
        if identity.access_key:
            own = identity.calls_per_minute or allowed
            # A key's own rate is for direct calls; of others it never allows more than the server does.
            allowed = own if kind == "direct" else min(own, allowed)
            of_address *= _KEYS_PER_ADDRESS
        client = {("client", identity.key, kind): allowed}
        # A key that may make more calls than others would use up what they share with it.
        shares = address and not (kind == "direct" and identity.calls_per_minute)
        return {("address", address, kind): of_address, **client} if shares else client

    def _forget(self, now: float) -> None:
        for key, calls in list(self._calls.items()):
            while calls and calls[0] <= now - WINDOW_SECONDS:
                calls.popleft()
            if not calls:
                del self._calls[key], self._allowed_of[key]


def _wait(allowed: int, calls: deque[float], now: float) -> float:
    """The seconds until the window has room for another call; 0 if it has."""
    # The call that must leave the window before another is accepted.
    return 0.0 if len(calls) < allowed else calls[-allowed] + WINDOW_SECONDS - now
