"""A bounded, counting, thread-safe cache."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cachetools import LRUCache, TTLCache

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class CacheCounters:
    """Hits and misses of a cache since its start, its current number of entries, and the largest it may have."""

    hits: int
    misses: int
    entries: int
    capacity: int

    def __add__(self, other: CacheCounters) -> CacheCounters:
        return CacheCounters(
            self.hits + other.hits,
            self.misses + other.misses,
            self.entries + other.entries,
            self.capacity + other.capacity,
        )

    def without_entries(self) -> CacheCounters:
        """The hits and misses alone, as of a cache that no longer exists."""
        return CacheCounters(self.hits, self.misses, 0, 0)


class Cache(Generic[V]):
    """A cache of at most ``size`` entries with LRU eviction. ``seconds``: lifetime of an entry, None: unlimited.

    Nothing is invalidated: callers put the generation of the index into the key.
    """

    def __init__(self, size: int, seconds: float | None = None) -> None:
        self._entries: LRUCache[Hashable, V] | TTLCache[Hashable, V] = (
            LRUCache(size) if seconds is None else TTLCache(size, seconds)
        )
        self._lock = threading.Lock()
        self._hits = self._misses = 0

    def get(self, key: Hashable) -> V | None:
        """The value of the key, or None. Counts the lookup."""
        with self._lock:
            value = self._entries.get(key)
            self._hits += value is not None
            self._misses += value is None
            return value

    def put(self, key: Hashable, value: V) -> None:
        """Store the value under the key."""
        with self._lock:
            self._entries[key] = value

    @property
    def counters(self) -> CacheCounters:
        """The counters since the cache was created."""
        with self._lock:
            return CacheCounters(self._hits, self._misses, len(self._entries), int(self._entries.maxsize))
