"""Rate limits, and the time to wait."""

from __future__ import annotations

import pytest

from server.errors import WinnowError
from server.settings import Settings
from server.transports.limits import RateLimit


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_client_that_has_used_its_minute_is_told_when_to_come_back() -> None:
    clock = Clock()
    limit = RateLimit(Settings(), clock)
    for _ in range(Settings().scripts_per_minute):
        limit.take("a", "script")
        clock.seconds += 1
    with pytest.raises(WinnowError) as caught:
        limit.take("a", "script")
    assert (caught.value.reason, caught.value.retry_after_s) == ("RATE_LIMIT", 30.0)
    clock.seconds += 30
    limit.take("a", "script")


def test_clients_and_kinds_do_not_share_a_limit() -> None:
    limit = RateLimit(Settings(), Clock())
    for _ in range(Settings().scripts_per_minute):
        limit.take("a", "script")
    limit.take("b", "script")
    limit.take("a", "direct")


def test_what_a_minute_allows_is_a_setting() -> None:
    clock = Clock()
    limit = RateLimit(Settings(calls_per_minute=2, scripts_per_minute=1, reads_per_minute=3), clock)
    for kind, allowed in (("direct", 2), ("script", 1), ("read", 3)):
        for _ in range(allowed):
            limit.take("a", kind)
        with pytest.raises(WinnowError, match=f"limit of {allowed} {kind} calls per minute is used up"):
            limit.take("a", kind)
