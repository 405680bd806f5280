"""Rate limits, and the time to wait."""

from __future__ import annotations

import pytest

from winnow.server.errors import WinnowError
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.settings.settings import Settings
from winnow.server.transports.rate_limits import RateLimit

pytestmark = pytest.mark.both_users


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
    for kind, allowed, named in (("direct", 2, "calls"), ("script", 1, "scripts"), ("read", 3, "requests")):
        for _ in range(allowed):
            limit.take("a", kind)
        with pytest.raises(
            WinnowError, match=rf"limit of {named}.* is reached, {allowed} a minute; try again in 60 s"
        ):
            limit.take("a", kind)


def test_scripts_are_advised_where_they_run_and_save_calls() -> None:
    for execute_code, kind, is_advised in (
        ("on", "direct", True),
        ("off", "direct", False),
        ("on", "read", False),
    ):
        settings = Settings(calls_per_minute=1, reads_per_minute=1, execute_code=execute_code)
        limit = RateLimit(settings, Clock())
        limit.take("a", kind)
        with pytest.raises(WinnowError) as caught:
            limit.take("a", kind)
        assert ("execute_code" in caught.value.message) is is_advised


def test_a_client_over_http_that_goes_on_calling_waits_longer_and_longer() -> None:
    clock = Clock()
    limit = RateLimit(Settings(calls_per_minute=3), clock)
    waits = []
    for _ in range(16):
        for _ in range(3):
            limit.take("a", "direct", "192.0.2.1")
        with pytest.raises(WinnowError) as caught:
            limit.take("a", "direct", "192.0.2.1")
        waits.append(caught.value.retry_after_s or 0)
        clock.seconds += waits[-1]
    assert waits[:3] == [60.0, 60.0, 60.0]
    assert waits[-1] == 900.0
    assert waits == sorted(waits)


def test_a_client_that_keeps_to_its_waits_is_never_kept_out_for_longer() -> None:
    clock = Clock()
    limit = RateLimit(Settings(calls_per_minute=3), clock)
    refused = 0
    for _ in range(30):
        clock.seconds += 30
        try:
            limit.take("a", "direct", "192.0.2.1")
        except WinnowError:
            refused += 1
    assert refused == 0


def test_on_a_pipe_only_the_limit_counts() -> None:
    clock = Clock()
    limit = RateLimit(Settings(calls_per_minute=1), clock)
    limit.take("a", "direct")
    for _ in range(100):
        with pytest.raises(WinnowError) as caught:
            limit.take("a", "direct")
    assert caught.value.retry_after_s == 60.0


def test_a_key_with_a_rate_of_its_own_takes_nothing_from_the_others_of_its_address() -> None:
    limits = RateLimit(Settings(), Clock())
    fast = key_name("aaaaaaaa", (), is_read_only=True, calls_per_minute=5_000)
    for _ in range(5_000):
        limits.take(fast, "direct", "192.0.2.7")
    with pytest.raises(WinnowError, match="5000"):
        limits.take(fast, "direct", "192.0.2.7")
    limits.take(key_name("bbbbbbbb", (), is_read_only=True, calls_per_minute=None), "direct", "192.0.2.7")
