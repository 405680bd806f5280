"""How often one client may call, and one address: a sliding window per kind of call.

A client that can have a new session whenever it asks must not have a new allowance with it. So all sessions from
one address share one allowance as well.
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
    """Calls a minute for one client, and for one address, by kind.

    A person's agent makes a handful; a loop that went wrong makes thousands. "read" is whatever is not a tool:
    resources, prompts, completions.
    """
    return MappingProxyType(
        {
            "direct": settings.calls_per_minute,
            "script": settings.scripts_per_minute,
            "read": settings.reads_per_minute,
        }
    )


class RateLimit:
    """Remembers when each client called, for as long as the window reaches back."""

    def __init__(self, settings: Settings, now: Callable[[], float] = time.monotonic) -> None:
        self._allowed = calls_per_minute(settings)
        self._now = now
        self._calls: dict[tuple[str, str, str], deque[float]] = {}

    def take(self, client: str, kind: str, address: str = "") -> None:
        """Count one call of this client from this address ("" where there is none, as on a pipe).

        Raises:
            WinnowError: RATE_LIMIT with the seconds until the next call will be taken.
        """
        now = self._now()
        self._forget(now)
        # The address first: what it has used up adds nothing to the table.
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
        # The call that has to leave the window before another one may come.
        wait = round(calls[-allowed] + WINDOW_SECONDS - now, 1)
        raise WinnowError(
            "RATE_LIMIT",
            f"{allowed} {kind} calls a minute are used up; try again in {wait} s, or do the "
            "work of many calls in one execute_code script",
            retryable=True,
            retry_after_s=wait,
        )

    def _forget(self, now: float) -> None:
        for key, calls in list(self._calls.items()):
            while calls and calls[0] <= now - WINDOW_SECONDS:
                calls.popleft()
            if not calls:
                del self._calls[key]
