"""The scratch store: eviction, expiry, isolation of sessions, and bounds."""

from __future__ import annotations

import logging
import re
import sys
import threading
from dataclasses import replace

import pytest
from hypothesis import settings as budget
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from winnow.server.ids import chunk_id
from winnow.server.models import Chunk, Document, Passage
from winnow.server.runtime.sessions.passage_store import (
    ENTRY_OVERHEAD_BYTES,
    MANY_EVICTIONS_A_MINUTE,
    PassageStore,
    PassageStoreCounters,
    Session,
    parse_uri,
)

TTL = 1800.0
ROOM_FOR_THREE = 3 * ENTRY_OVERHEAD_BYTES + 2000


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def passage(name: str, text: str = "") -> Passage:
    """A passage with a distinct name."""
    uri = f"{name}.md"
    document = Document(name, "handbook", uri, "notes", name, "markdown", content_hash="")
    chunk = Chunk(chunk_id("handbook", uri, (), text, 0), name, 0, (), text or name, 0, len(text), 1)
    return Passage(chunk, document)


def names(session: Session) -> list[str]:
    """The names of a session's passages, newest first."""
    held = [session.get(passage_id) for passage_id in session.ids()]
    return [kept.passage.document.title for kept in held if kept is not None]


def test_what_is_kept_is_read_again_with_its_size_and_uri() -> None:
    session = PassageStore(10**6, TTL).session("a")
    kept = session.keep(passage("one", "Grüße"), "handbook")
    assert session.get(kept.passage_id) is kept
    assert (kept.project, kept.size_bytes, kept.passage.chunk.text) == ("handbook", 7, "Grüße")
    assert re.fullmatch(r"[0-9a-v]{12}", session.id)
    assert re.fullmatch(r"[0-9a-v]{10}", kept.passage_id)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", kept.created_at)
    assert kept.uri == f"winnow://scratch/{session.id}/{kept.passage_id}"
    assert parse_uri(kept.uri) == (session.id, kept.passage_id)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "winnow://scratch/0123456789ab/012345678",
        "winnow://scratch/0123456789ab/01234567890",
        "winnow://scratch/0123456789ab/0123456789\n",
        "winnow://scratch/0123456789ab/0123456789/",
        "winnow://scratch/0123456789ab/012345678w",
        "winnow://scratch/0123456789AB/0123456789",
        "winnow://scratch/0123456789ab/٠١٢٣٤٥٦٧٨٩",
        "winnow://scratch/../0123456789ab/0123456789",
        "winnow://scratch/0123456789ab/%30123456789",
        "winnow://scratch/0123456789ab/0123456789?session_id=x",
        "WINNOW://scratch/0123456789ab/0123456789",
        "file:///etc/passwd",
    ],
)
def test_what_is_not_a_scratch_uri_to_the_letter_is_none(uri: str) -> None:
    assert parse_uri(uri) is None


def test_the_same_connection_has_the_same_session_and_another_one_another() -> None:
    store = PassageStore(10**6, TTL)
    assert store.session("a") is store.session("a")
    assert store.session("a").id != store.session("b").id


def test_a_passage_keeps_its_id_within_a_session_even_after_it_was_evicted() -> None:
    store = PassageStore(ROOM_FOR_THREE, TTL)
    session = store.session("a")
    first = session.keep(passage("one"), "handbook").passage_id
    for name in ("two", "three", "four"):
        session.keep(passage(name), "handbook")
    assert session.get(first) is None
    assert session.keep(passage("one"), "handbook").passage_id == first


def test_ids_differ_between_passages_projects_and_sessions() -> None:
    store = PassageStore(10**6, TTL)
    a, b = store.session("a"), store.session("b")
    kept = [
        a.keep(passage("one"), "handbook"),
        a.keep(passage("two"), "handbook"),
        a.keep(passage("one"), "other"),
        b.keep(passage("one"), "handbook"),
    ]
    assert len({each.passage_id for each in kept}) == len(kept)


def test_an_id_cannot_be_worked_out_from_what_a_client_knows() -> None:
    """Two stores with exactly the same calls give different ids, because ids depend on a secret."""
    ids = [PassageStore(10**6, TTL).session("a").keep(passage("one"), "handbook").passage_id for _ in range(20)]
    assert len(set(ids)) == len(ids)


def test_another_session_s_id_an_invented_one_and_an_expired_one_are_unknown_alike() -> None:
    clock = Clock()
    store = PassageStore(10**6, TTL, clock)
    a, b = store.session("a"), store.session("b")
    of_a = a.keep(passage("one"), "handbook").passage_id
    assert [b.get(of_a), a.get("0000000000"), a.get(""), a.get("x" * 10_000)] == [None] * 4
    clock.seconds += TTL
    assert a.get(of_a) is None
    assert (a.ids(), b.ids()) == ([], [])


def test_the_least_recently_used_passage_leaves_first_whoever_kept_it() -> None:
    store = PassageStore(ROOM_FOR_THREE, TTL)
    a, b = store.session("a"), store.session("b")
    used = a.keep(passage("one"), "handbook").passage_id
    a.keep(passage("two"), "handbook")
    b.keep(passage("three"), "handbook")
    assert a.get(used) is not None
    b.keep(passage("four"), "handbook")
    assert (names(a), names(b)) == (["one"], ["four", "three"])


def test_a_session_that_holds_more_than_half_evicts_its_own_passages_and_those_of_others_stay() -> None:
    store = PassageStore(10 * (ENTRY_OVERHEAD_BYTES + 1000), TTL)
    quiet, loud, third = store.session("quiet"), store.session("loud"), store.session("third")
    kept = [quiet.keep(passage(f"quiet {number}"), "handbook").passage_id for number in range(2)]
    read = loud.keep(passage("loud read"), "handbook").passage_id
    for number in range(200):
        loud.keep(passage(f"loud {number}"), "handbook")
        assert loud.get(read) is not None  # of its own, the least recently used leave first
    third.keep(passage("third"), "handbook")
    assert all(quiet.get(passage_id) is not None for passage_id in kept)
    assert names(third) == ["third"]
    counters = store.counters
    assert counters.bytes <= 10 * (ENTRY_OVERHEAD_BYTES + 1000)
    assert counters.kept - counters.evictions == counters.entries == len(loud.ids()) + 3


def test_a_session_may_hold_everything_until_others_need_room() -> None:
    store = PassageStore(10 * (ENTRY_OVERHEAD_BYTES + 1000), TTL)
    loud, late = store.session("loud"), store.session("late")
    for number in range(200):
        loud.keep(passage(f"loud {number}"), "handbook")
    most = len(loud.ids())
    for number in range(3):
        late.keep(passage(f"late {number}"), "handbook")
    assert names(late) == ["late 2", "late 1", "late 0"]
    assert most - 4 <= len(loud.ids()) < most


def test_a_passage_expires_after_its_time_however_often_it_was_read_and_showing_it_again_renews_it() -> None:
    clock = Clock()
    store = PassageStore(10**6, TTL, clock)
    session = store.session("a")
    read, shown = passage("read"), passage("shown")
    session.keep(read, "handbook")
    session.keep(shown, "handbook")
    clock.seconds += TTL - 1
    assert names(session) == ["shown", "read"]
    session.keep(shown, "handbook")
    clock.seconds += 1
    assert names(session) == ["shown"]
    counters = store.counters
    assert (counters.expirations, counters.evictions, counters.entries) == (1, 0, 1)


def test_a_passage_larger_than_the_store_is_not_kept_and_evicts_nobody() -> None:
    store = PassageStore(ROOM_FOR_THREE, TTL)
    session = store.session("a")
    session.keep(passage("one"), "handbook")
    large = session.keep(passage("large", "x" * ROOM_FOR_THREE), "handbook")
    assert session.get(large.passage_id) is None
    assert names(session) == ["one"]
    assert store.counters.evictions == 0


@pytest.mark.parametrize("grown", ["text", "metadata", "heading"])
def test_whatever_is_long_in_a_passage_counts_towards_the_bound(grown: str) -> None:
    store = PassageStore(10**6, TTL)
    plain = passage("one")
    long = "\U0001f600" * 10_000  # four bytes a character in memory
    enlarged = {
        "text": replace(plain, chunk=replace(plain.chunk, text=long)),
        "metadata": replace(plain, document=replace(plain.document, metadata={"note": long})),
        "heading": replace(plain, chunk=replace(plain.chunk, heading_path=(long,))),
    }[grown]
    store.session("a").keep(enlarged, "handbook")
    assert store.counters.bytes >= sys.getsizeof(long)


def test_ids_are_listed_by_prefix_newest_first_and_no_more_than_asked_for() -> None:
    session = PassageStore(10**6, TTL).session("a")
    kept = [session.keep(passage(f"p{number}"), "handbook").passage_id for number in range(150)]
    assert session.ids() == kept[:-101:-1]
    assert session.ids(limit=1000) == kept[::-1]
    assert session.ids(prefix=kept[3]) == [kept[3]]
    assert session.ids(prefix="w") == []


def test_a_session_that_was_not_heard_of_for_longest_ends_and_takes_its_passages_along() -> None:
    store = PassageStore(10**6, TTL, max_sessions=2)
    ended = store.session("a")
    kept = ended.keep(passage("one"), "handbook")
    store.session("b")
    store.session("c")
    assert store.counters == PassageStoreCounters(
        1, 0, 0, evictions=1, expirations=0, entries=0, bytes=0, sessions=2, capacity_bytes=10**6
    )
    assert ended.get(kept.passage_id) is None
    ended.keep(passage("two"), "handbook")  # by a call that was under way
    assert (ended.ids(), store.counters.entries) == ([], 0)
    again = store.session("a")
    assert again.id != ended.id
    assert again.get(kept.passage_id) is None


def test_frequent_evictions_are_said_once_a_minute_with_the_setting_to_raise(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    session = PassageStore(ROOM_FOR_THREE, TTL, clock).session("a")

    def evict(count: int) -> None:
        for number in range(count):
            session.keep(passage(f"{clock.seconds} {number}"), "handbook")

    with caplog.at_level(logging.WARNING, "winnow"):
        evict(MANY_EVICTIONS_A_MINUTE)
        assert caplog.records == []
        evict(2 * MANY_EVICTIONS_A_MINUTE)
        assert ["scratch_mb" in record.getMessage() for record in caplog.records] == [True]
        clock.seconds += 60
        evict(2 * MANY_EVICTIONS_A_MINUTE)
        assert len(caplog.records) == 2


def test_threads_of_two_sessions_never_read_each_other_s_passages_while_evictions_are_forced() -> None:
    store = PassageStore(20 * ENTRY_OVERHEAD_BYTES, TTL)
    wrong: list[object] = []
    known: dict[str, list[str]] = {"a": [], "b": []}
    start = threading.Barrier(8)

    def hammer(me: str, other: str, number: int) -> None:
        start.wait()
        for turn in range(300):
            session = store.session(me)
            kept = session.keep(passage(f"{me} {number} {turn % 40}", me), me)
            known[me].append(kept.passage_id)
            for passage_id in (*known[me][-15:], *known[other][-15:]):
                found = session.get(passage_id)
                if found is not None and (found.passage.chunk.text, found.passage_id) != (me, passage_id):
                    wrong.append(found)
            if not set(session.ids()).isdisjoint(known[other][-15:]):
                wrong.append((me, turn))

    pairs = [("a", "b"), ("b", "a")] * 4
    threads = [threading.Thread(target=hammer, args=(*pair, n)) for n, pair in enumerate(pairs)]
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switching)
    counters = store.counters
    assert wrong == []
    assert (counters.kept, counters.sessions) == (8 * 300, 2)
    assert counters.evictions > 1000
    assert counters.hits > 0
    assert counters.bytes <= 20 * ENTRY_OVERHEAD_BYTES
    assert counters.entries == sum(len(store.session(key).ids()) for key in ("a", "b"))


class StoreUnderUse(RuleBasedStateMachine):
    """Any sequence of calls, compared with a model without eviction: reads are correct and the bound holds."""

    @initialize(room=st.integers(0, 8 * ENTRY_OVERHEAD_BYTES))
    def _open(self, room: int) -> None:
        self.clock = Clock()
        self.room = room
        self.store = PassageStore(room, TTL, self.clock)
        self.written: dict[tuple[str, str], str] = {}
        self.times: dict[tuple[str, str], float] = {}

    @rule(
        key=st.sampled_from("ab"),
        name=st.sampled_from("pqrstuvwxy"),
        text=st.one_of(st.text(max_size=20), st.integers(0, 40_000).map("x".__mul__)),
    )
    def keep(self, key: str, name: str, text: str) -> None:
        named = replace(passage(name), chunk=replace(passage(name).chunk, text=text))
        kept = self.store.session(key).keep(named, "handbook")
        self.written[key, kept.passage_id] = text
        self.times[key, kept.passage_id] = self.clock.seconds

    @rule(seconds=st.sampled_from([1.0, TTL / 2, TTL]))
    def wait(self, seconds: float) -> None:
        self.clock.seconds += seconds

    @rule(key=st.sampled_from("ab"))
    def read(self, key: str) -> None:
        for owner, passage_id in self.written:
            kept = self.store.session(key).get(passage_id)
            if kept is not None:
                assert (owner, kept.passage.chunk.text) == (key, self.written[key, passage_id])
                assert self.clock.seconds - self.times[key, passage_id] < TTL

    @invariant()
    def the_bound_holds_and_the_counters_agree(self) -> None:
        counters = self.store.counters
        listed = [passage_id for key in "ab" for passage_id in self.store.session(key).ids(limit=10_000)]
        assert counters.bytes <= self.room
        assert counters.entries == len(listed) == len(set(listed))
        assert (counters.entries == 0) == (counters.bytes == 0)


TestStoreUnderUse = StoreUnderUse.TestCase
TestStoreUnderUse.settings = budget(max_examples=60, stateful_step_count=30, deadline=None)
