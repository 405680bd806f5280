"""Rate limits: a sliding window per kind of call, for each client and each address.

A client can get a new session whenever it asks, and must not get a new limit with it. So all sessions from one
address share one limit as well.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType

from server.errors import WinnowError
from server.settings import Settings

WINDOW_SECONDS = 60.0


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
        # The address first: once its limit is used up, new sessions add nothing to the table.
        for key in self._keys(client, kind, address):
            self._check(kind, self._calls.get(key, deque()), now)
        for key in self._keys(client, kind, address):
            self._calls.setdefault(key, deque()).append(now)

    def _keys(self, client: str, kind: str, address: str) -> list[tuple[str, str, str]]:
        of_address = [("address", address, kind)] if address else []
        return [*of_address, ("client", client, kind)]

    def _check(self, kind: str, calls: deque[float], now: float) -> None:
        allowed = self._allowed[kind]
        if len(calls) < allowed:
            return
        # The call that must leave the window before another is accepted.
        wait = round(calls[-allowed] + WINDOW_SECONDS - now, 1)
        raise WinnowError(
            "RATE_LIMIT",
            f"the limit of {allowed} {kind} calls per minute is used up; try again in {wait} s, or do the work "
            "of many calls in one execute_code script",
            retryable=True,
            retry_after_s=wait,
        )

    def _forget(self, now: float) -> None:
        for key, calls in list(self._calls.items()):
            while calls and calls[0] <= now - WINDOW_SECONDS:
                calls.popleft()
            if not calls:
                del self._calls[key]
