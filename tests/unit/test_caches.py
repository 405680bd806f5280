"""A cache keeps the most recently used entries until they expire, and counts every lookup."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.server.runtime.caches import Cache, CacheCounters


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=60), st.integers(1, 4))
def test_what_is_found_was_put_there_and_the_least_recently_used_goes_first(
    steps: list[tuple[bool, int]], size: int
) -> None:
    cache: Cache[int] = Cache(size)
    held: dict[int, int] = {}  # in order of use
    hits = misses = 0
    for number, (is_put, key) in enumerate(steps):
        before = held.pop(key, None)
        if is_put:
            cache.put(key, number)
            held[key] = number
            if len(held) > size:
                del held[next(iter(held))]
            continue
        assert cache.get(key) == before
        hits, misses = hits + (before is not None), misses + (before is None)
        if before is not None:
            held[key] = before
    assert cache.counters == CacheCounters(hits, misses, len(held), size)


def test_an_entry_whose_time_is_over_is_not_found() -> None:
    cache: Cache[str] = Cache(4, seconds=0.0)
    cache.put("a", "b")
    assert (cache.get("a"), cache.counters.misses) == (None, 1)


def test_threads_at_once_are_all_counted() -> None:
    cache: Cache[int] = Cache(8)

    def use(number: int) -> None:
        cache.put(number % 8, number)
        cache.get(number % 8)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(use, range(800)))
    assert (cache.counters.hits + cache.counters.misses, cache.counters.entries) == (800, 8)
