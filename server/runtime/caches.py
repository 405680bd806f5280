"""What was worked out lately, kept for a while: bounded, counted, safe for several threads."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cachetools import LRUCache, TTLCache

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class CacheCounters:
    """What became of the lookups of a cache so far, and how many entries it holds now."""

    hits: int
    misses: int
    entries: int


class Cache(Generic[V]):
    """At most ``size`` entries, the least recently used leaving first; each for ``seconds``, None: for ever.

    Nothing is ever invalidated: whoever asks puts the generation of the index into the key.
    """

    def __init__(self, size: int, seconds: float | None = None) -> None:
        self._entries: LRUCache[Hashable, V] | TTLCache[Hashable, V] = (
            LRUCache(size) if seconds is None else TTLCache(size, seconds)
        )
        self._lock = threading.Lock()
        self._hits = self._misses = 0

    def get(self, key: Hashable) -> V | None:
        """What is kept under the key, if it is still here; the lookup is counted."""
        with self._lock:
            found = self._entries.get(key)
            self._hits += found is not None
            self._misses += found is None
            return found

    def put(self, key: Hashable, value: V) -> None:
        """Keep it."""
        with self._lock:
            self._entries[key] = value

    @property
    def counters(self) -> CacheCounters:
        """The counts since the cache was made."""
        with self._lock:
            return CacheCounters(self._hits, self._misses, len(self._entries))
