"""Bulk harvesting of metadata: when it is an alert, when a limit, and what is no harvest."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from winnow.server.errors import WinnowError
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.settings.settings import Settings
from winnow.server.transports.access.harvest import FLOOR, HarvestAlert, HarvestGuard

KEY = key_name("1f0c9a2b", (), is_read_only=False, calls_per_minute=None)
ADDRESS = "192.0.2.1"
HOUR = 3_600.0
LARGE = 1_000_000  # passages of a corpus


class Clock:
    """A clock that stands still until it is moved."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def text_of(ids: Iterable[int]) -> str:
    return ",".join(f'{{"chunk_id":"{id:012x}"}}' for id in ids)


class World:
    """A guard, and a client that has ids listed and reads some."""

    def __init__(self, connection: str = KEY, address: str = ADDRESS, **settings: object) -> None:
        self.clock = Clock()
        self.guard = HarvestGuard(Settings.model_validate(settings), self.clock)
        self.connection, self.address = connection, address

    def show(self, ids: Iterable[int], tool: str = "kb.search", corpus: int = LARGE) -> HarvestAlert | None:
        self.guard.check(self.connection, self.address, tool)
        return self.guard.note(self.connection, self.address, tool, text_of(ids), corpus)


def test_much_that_is_listed_and_not_read_raises_one_alert_an_hour_and_then_a_limit() -> None:
    world = World(harvest_passages=1_000)
    alerts = [world.show(range(start, start + 100)) for start in range(0, 4_000, 100)]
    assert [alert for alert in alerts if alert] == [HarvestAlert(1_000, 0, LARGE)]
    with pytest.raises(WinnowError) as caught:
        world.show(range(10))
    assert (caught.value.reason, caught.value.retry_after_s) == ("RATE_LIMIT", HOUR)
    world.show([1, 2], "kb.read_excerpt")  # reading goes on
    world.show([3], "kb.show")  # and so does looking
    world.clock.seconds += HOUR
    assert world.show(range(10)) is None


def test_the_threshold_follows_the_corpus_between_a_floor_and_the_setting() -> None:
    for corpus, expected in ((100, FLOOR), (20_000, 5_000), (LARGE, 10_000)):
        world = World()
        alerts = [world.show(range(at, at + 500), corpus=corpus) for at in range(0, 12_000, 500) if at < 4 * FLOOR]
        shown = [alert.shown for alert in alerts if alert]
        assert shown == ([expected] if expected <= 4 * FLOOR else [])


def test_a_client_that_reads_one_in_fifty_lists_as_much_as_it_likes() -> None:
    world = World(harvest_passages=1_000)
    for start in range(0, 20_000, 100):
        world.show([start, start + 1], "kb.read_excerpt")
        assert world.show(range(start, start + 100)) is None


def test_the_same_passages_again_and_older_than_the_window_do_not_count() -> None:
    world = World(harvest_passages=1_000, harvest_minutes=1)
    for _ in range(100):
        assert world.show(range(900)) is None
    for start in range(0, 9_000, 900):
        world.clock.seconds += 60
        assert world.show(range(start, start + 900)) is None


def test_a_key_counts_in_all_its_addresses_and_an_address_in_all_its_sessions() -> None:
    for connections, addresses in (((KEY,), (ADDRESS, "192.0.2.2")), (("unproven:a", "unproven:b"), (ADDRESS,))):
        guard, alerts = HarvestGuard(Settings(harvest_passages=1_000), Clock()), []
        for number in range(2):
            place = connections[number % len(connections)], addresses[number % len(addresses)]
            ids = text_of(range(600 * number, 600 * (number + 1)))
            alerts.append(guard.note(*place, "kb.search", ids, LARGE))
        assert alerts == [None, HarvestAlert(1_200, 0, LARGE)]


def test_a_pipe_is_not_counted_nor_anything_where_it_is_off_and_an_alert_alone_refuses_nothing() -> None:
    assert not World().guard.is_counted("")
    assert not World(harvest="off").guard.is_counted(ADDRESS)
    world = World(harvest="alert", harvest_passages=100)
    alerts = [world.show(range(at, at + 100)) for at in range(0, 2_000, 100)]
    assert len([alert for alert in alerts if alert]) == 1
