"""The passage store: passages of which a session has seen a part, so that it can read on.

Theory of operation. A search shows a preview and stores the passage here. The passage id in the result is valid
only in the same session, and only while the passage is stored. All sessions share one memory limit with LRU
eviction; while one of them holds more than half of the memory, only its own passages are evicted, so that a script
of many searches does not take those of others. Passages older than the time to live are deleted, read or not.

A passage id is a digest keyed with a secret of its session: the same passage always has the same id in a session,
and the id cannot be computed from a document's text. An id of another session, an expired one and an invented one
are all unknown and cannot be distinguished. A session's own id is a name, not a key; access depends on the
connection of the call. In the protocol without connections (identities.py) the passage id is all that protects a
passage until a token proves the session's owner, so it is longer there.

One lock, held for dictionary operations only: nothing under it waits, logs or counts bytes.
"""

from __future__ import annotations

import logging
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b

from cachetools import LRUCache, TTLCache

from winnow.server.models import Passage
from winnow.server.runtime.logs import log
from winnow.server.runtime.sessions.identities import identity_of

URI_TEMPLATE = "winnow://scratch/{session_id}/{passage_id}"

_ALPHABET = "0123456789abcdefghijklmnopqrstuv"
_SESSION_ID_LENGTH = 12
_PASSAGE_ID_LENGTH = 10  # 50 bits: in a full store (80,000 passages) a collision has a chance of 1 in 350,000
_SHARED_ID_LENGTH = 16  # 80 bits: the id alone grants access
_URI = re.compile(
    rf"winnow://scratch/([{_ALPHABET}]{{{_SESSION_ID_LENGTH}}})/"
    rf"([{_ALPHABET}]{{{_PASSAGE_ID_LENGTH}}}|[{_ALPHABET}]{{{_SHARED_ID_LENGTH}}})"
)

# 10,000 take about 5 MB; a host that opens a new connection for each call must not grow the process.
MAX_SESSIONS = 10_000
# Memory of an entry besides its text: keys, links, the passage's records. Measured: 2,290 bytes with short names.
ENTRY_OVERHEAD_BYTES = 3072
# Above this rate, passages are likely to be evicted while they are still being read.
MANY_EVICTIONS_A_MINUTE = 100
_WINDOW_SECONDS = 60.0

_Key = tuple[str, str]
_SessionKey = tuple[bool, str]  # whether it is shared, and the key of its identity


@dataclass(frozen=True, slots=True)
class PassageLink:
    """A link to a stored passage; the fields are those of ``StoredPassage``.

    ``place`` is its file and its place there ("[guide.pdf, p. 45]"), "" where that is not known.
    """

    passage_id: str
    uri: str
    title: str
    size_bytes: int
    created_at: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage in the store.

    ``passage_id`` is 10 or 16 characters of ``0-9a-v``, ``created_at`` is ISO-8601 UTC in seconds, ``size_bytes``
    the length of the text in UTF-8.
    """

    passage_id: str
    session_id: str
    project: str
    passage: Passage
    created_at: str
    size_bytes: int

    @property
    def uri(self) -> str:
        """The resource URI of the passage."""
        return URI_TEMPLATE.format(session_id=self.session_id, passage_id=self.passage_id)

    @property
    def link(self) -> PassageLink:
        """A link to the passage, without its text."""
        return PassageLink(
            self.passage_id, self.uri, self.passage.document.title, self.size_bytes, self.created_at
        )


@dataclass(frozen=True, slots=True)
class PassageStoreCounters:
    """Counters since the start (``kept`` to ``expirations``), and the current contents.

    ``evictions``: passages that were removed early, because memory ran out or their session was removed.
    """

    kept: int
    hits: int
    misses: int
    evictions: int
    expirations: int
    entries: int
    bytes: int
    sessions: int
    capacity_bytes: int


def parse_uri(uri: str) -> tuple[str, str] | None:
    """The session id and the passage id of a passage URI; None if it is not exactly one.

    >>> parse_uri("winnow://scratch/0123456789ab/0123456789")
    ('0123456789ab', '0123456789')
    """
    match = _URI.fullmatch(uri)
    return (match[1], match[2]) if match else None


class Session:
    """One session's view of the store. ``id`` is public and grants no access.

    ``is_shared`` and ``is_proven`` come from its identity; a session that was proven once stays proven.
    """

    __slots__ = ("_secret", "_store", "id", "is_proven", "is_shared")

    def __init__(self, store: PassageStore, *, is_shared: bool = False) -> None:
        self.id = _letters(secrets.token_bytes(_SESSION_ID_LENGTH))
        self.is_shared = is_shared
        self.is_proven = not is_shared
        self._secret = secrets.token_bytes(32)
        self._store = store

    def keep(self, passage: Passage, project: str) -> StoredPassage:
        """Store a passage, or renew its lifetime; the same passage always has the same ``passage_id``.

        A passage larger than the whole store gets an id but is not stored: reading it answers "unknown".
        """
        stored = StoredPassage(
            passage_id=self._passage_id(passage, project),
            session_id=self.id,
            project=project,
            passage=passage,
            created_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            size_bytes=len(passage.chunk.text.encode("utf-8", "replace")),
        )
        self._store.put(stored, self)
        return stored

    def get(self, passage_id: str) -> StoredPassage | None:
        """The passage, marked as used; None if this session may not read it or it is not stored.

        A shared session reads its own passages and those of unproven sessions.
        """
        return self._store.get(self.id, passage_id, shared=self.is_shared)

    def ids(self, prefix: str = "", limit: int = 100) -> list[str]:
        """At most ``limit`` passage ids that begin with ``prefix``, the latest first."""
        return [passage_id for passage_id in self._store.ids(self.id) if passage_id.startswith(prefix)][:limit]

    def _passage_id(self, passage: Passage, project: str) -> str:
        key = f"{project}\0{passage.chunk.id}".encode("utf-8", "surrogatepass")
        length = _SHARED_ID_LENGTH if self.is_shared else _PASSAGE_ID_LENGTH
        return _letters(blake2b(key, key=self._secret, digest_size=length).digest())


class PassageStore:
    """The passages of all sessions of one process. Thread-safe.

    ``max_bytes``: memory of all entries. ``ttl_seconds``: lifetime of an entry after it was last shown.
    ``max_sessions``: sessions that are remembered. ``now``: a clock in seconds.
    """

    def __init__(
        self,
        max_bytes: int,
        ttl_seconds: float,
        now: Callable[[], float] = time.monotonic,
        *,
        max_sessions: int = MAX_SESSIONS,
    ) -> None:
        self._lock = threading.Lock()
        self._entries = _Entries(max_bytes, ttl_seconds, now, self._on_entry_removed)
        self._sessions = _Sessions(max_sessions, self._on_session_removed)
        self._held: dict[str, _Holding] = {}  # by session id
        self._largest = ""  # the last session that held more than half
        self._shared: dict[str, Session] = {}  # passage id -> the shared session that holds it
        self._kept = self._hits = self._misses = self._evictions = self._expirations = 0
        self._alarm = _Alarm(now)

    def session(self, key: str) -> Session:
        """The session of this connection; a new one if it has none or its session was removed."""
        identity = identity_of(key)
        with self._lock:
            session = self._sessions.get((identity.is_shared, identity.key))
            if session is None:
                session = Session(self, is_shared=identity.is_shared)
                self._sessions[identity.is_shared, identity.key] = session
                self._held[session.id] = _Holding()
            session.is_proven = session.is_proven or identity.is_proven
            return session

    @property
    def counters(self) -> PassageStoreCounters:
        """Counters for the operator."""
        with self._lock:
            self._entries.expire()
            return PassageStoreCounters(
                self._kept,
                self._hits,
                self._misses,
                self._evictions,
                self._expirations,
                len(self._entries),
                int(self._entries.currsize),
                len(self._sessions),
                int(self._entries.maxsize),
            )

    def put(self, stored: StoredPassage, session: Session) -> None:
        """Store a passage, if its session still exists and the passage is not too large."""
        entry = _Entry(stored, _footprint(stored.passage))
        with self._lock:
            before = self._evictions
            if stored.session_id in self._held:
                self._replace(stored, entry)
                if session.is_shared and (stored.session_id, stored.passage_id) in self._entries:
                    self._shared[stored.passage_id] = session
            evictions = self._alarm.count(self._evictions - before)
        if evictions:
            log(
                "passages are evicted often; raise the setting scratch_mb if reads answer 'unknown'",
                level=logging.WARNING,
                evictions_in_a_minute=evictions,
            )

    def get(self, session_id: str, passage_id: str, *, shared: bool = False) -> StoredPassage | None:
        """The passage of this session with this id; with ``shared``, also that of another unproven session."""
        with self._lock:
            self._entries.expire()
            holder = self._shared.get(passage_id) if shared else None
            if holder is not None and not holder.is_proven:
                session_id = holder.id
            entry = self._entries.get((session_id, passage_id))
            if entry:
                self._held[session_id].use(passage_id)
            self._hits, self._misses = self._hits + (entry is not None), self._misses + (entry is None)
        return entry.stored if entry else None

    def ids(self, session_id: str) -> list[str]:
        """The passage ids of this session, the latest first."""
        with self._lock:
            self._entries.expire()
            held = self._held.get(session_id)
            passage_ids = list(held.shown) if held else []
        return passage_ids[::-1]

    # Called with the lock held.

    def _replace(self, stored: StoredPassage, entry: _Entry) -> None:
        self._remove((stored.session_id, stored.passage_id))
        if entry.bytes > self._entries.maxsize:
            return
        self._make_room(entry.bytes)
        self._entries[stored.session_id, stored.passage_id] = entry
        held = self._held[stored.session_id]
        held.add(stored.passage_id, entry.bytes)
        if self._is_large(held):
            self._largest = stored.session_id
        self._kept += 1

    def _make_room(self, size: int) -> None:
        """Remove passages of the session that holds more than half; the cache makes any other room itself."""
        self._entries.expire()
        while self._entries.currsize + size > self._entries.maxsize:
            held = self._held.get(self._largest)
            if held is None or not self._is_large(held):
                return
            self._remove((self._largest, next(iter(held.used))))
            self._evictions += 1

    def _is_large(self, held: _Holding) -> bool:
        return 2 * held.bytes > self._entries.maxsize

    def _remove(self, key: _Key) -> None:
        self._forget(key)
        with suppress(KeyError):  # also raised for an entry that has just expired; it is removed nevertheless
            del self._entries[key]

    def _forget(self, key: _Key) -> None:
        self._held[key[0]].remove(key[1])
        self._shared.pop(key[1], None)

    def _on_entry_removed(self, stored: StoredPassage, *, expired: bool) -> None:
        self._forget((stored.session_id, stored.passage_id))
        self._expirations += expired
        self._evictions += not expired

    def _on_session_removed(self, session: Session) -> None:
        for passage_id in list(self._held[session.id].shown):
            self._remove((session.id, passage_id))
            self._evictions += 1
        del self._held[session.id]


@dataclass(slots=True)
class _Holding:
    """The passages of a session: their ids, first shown first, and their bytes, least recently used first."""

    shown: dict[str, None] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    bytes: int = 0

    def add(self, passage_id: str, size: int) -> None:
        """Add a passage that is not held."""
        self.shown[passage_id] = None
        self.used[passage_id] = size
        self.bytes += size

    def use(self, passage_id: str) -> None:
        """Mark a passage as used."""
        self.used[passage_id] = self.used.pop(passage_id)

    def remove(self, passage_id: str) -> None:
        """Remove a passage, if it is held."""
        self.shown.pop(passage_id, None)
        self.bytes -= self.used.pop(passage_id, 0)


@dataclass(frozen=True, slots=True)
class _Entry:
    stored: StoredPassage
    bytes: int


class _Entries(TTLCache[_Key, _Entry]):
    """The entries, with LRU eviction and expiry; reports each removal to ``on_removed``."""

    def __init__(
        self, max_bytes: int, ttl_seconds: float, now: Callable[[], float], on_removed: Callable[..., None]
    ) -> None:
        super().__init__(max_bytes, ttl_seconds, timer=now, getsizeof=lambda entry: entry.bytes)
        self._on_removed = on_removed

    def expire(self, time: float | None = None) -> list[tuple[_Key, _Entry]]:
        expired = list(super().expire(time))
        for _, entry in expired:
            self._on_removed(entry.stored, expired=True)
        return expired

    def popitem(self) -> tuple[_Key, _Entry]:
        key, entry = super().popitem()
        self._on_removed(entry.stored, expired=False)
        return key, entry


class _Sessions(LRUCache[_SessionKey, Session]):
    """The sessions, with LRU eviction; reports each removal to ``on_removed``."""

    def __init__(self, limit: int, on_removed: Callable[[Session], None]) -> None:
        super().__init__(limit)
        self._on_removed = on_removed

    def popitem(self) -> tuple[_SessionKey, Session]:
        key, session = super().popitem()
        self._on_removed(session)
        return key, session


class _Alarm:
    """Detects frequent evictions; reports at most once a minute."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since = now()
        self._count = 0
        self._has_reported = False

    def count(self, evictions: int) -> int:
        """Add evictions. Returns their number in this minute if it should be logged, otherwise 0."""
        if self._now() - self._since >= _WINDOW_SECONDS:
            self._since, self._count, self._has_reported = self._now(), 0, False
        self._count += evictions
        if self._has_reported or self._count <= MANY_EVICTIONS_A_MINUTE:
            return 0
        self._has_reported = True
        return self._count


def _letters(data: bytes) -> str:
    """One character of ``0-9a-v`` for each byte: its lower five bits."""
    return "".join(_ALPHABET[byte & 31] for byte in data)


def _footprint(passage: Passage) -> int:
    """Estimated memory of a passage: the sizes of its long strings, plus a constant."""
    chunk, document = passage.chunk, passage.document
    metadata = repr(dict(document.metadata)) if document.metadata else ""
    strings = (chunk.text, *chunk.heading_path, document.title, document.uri, *document.tags, metadata, metadata)
    return ENTRY_OVERHEAD_BYTES + sum(map(sys.getsizeof, strings))
