"""How often one client may call: a sliding window per kind of call."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType

from server.errors import WinnowError

WINDOW_SECONDS = 60.0
# Calls a minute for one client. A person's agent makes a handful; a loop that went wrong makes thousands.
# "read" is whatever is not a tool: resources, prompts, completions.
CALLS_PER_MINUTE: Mapping[str, int] = MappingProxyType({"direct": 100, "script": 30, "read": 100})


class RateLimit:
    """Remembers when each client called, for as long as the window reaches back."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._calls: dict[tuple[str, str], deque[float]] = {}

    def take(self, client: str, kind: str) -> None:
        """Count one call.

        Raises:
            WinnowError: RATE_LIMIT with the seconds until the next call will be taken.
        """
        now = self._now()
        self._forget(now)
        calls = self._calls.setdefault((client, kind), deque())
        if len(calls) >= CALLS_PER_MINUTE[kind]:
            wait = round(calls[0] + WINDOW_SECONDS - now, 1)
            raise WinnowError(
                "RATE_LIMIT",
                f"{CALLS_PER_MINUTE[kind]} {kind} calls a minute are used up; try again in {wait} s, or do the "
                "work of many calls in one execute_code script",
                retryable=True,
                retry_after_s=wait,
            )
        calls.append(now)

    def _forget(self, now: float) -> None:
        for key, calls in list(self._calls.items()):
            while calls and calls[0] <= now - WINDOW_SECONDS:
                calls.popleft()
            if not calls:
                del self._calls[key]
