"""Passages that a session has been shown in part and may read on: kept for a while, within a bound of bytes.

Theory of operation. A search shows a preview and keeps its passage here; the passage id that it hands out is worth
something in the same session only, and only while the passage is kept. All sessions share one bound: what nobody
has used for longest leaves first, whoever kept it. What is older than the time to live is gone, read or not.

A passage id is a digest under a secret of its session: the same passage has the same id whenever the session
sees it again, and nobody can work it out from what a document says. An id of another session, an expired one and
an invented one are all unknown, and cannot be told apart. A session's own id is a name, not a key; what grants
access is the connection that a call came from. Where the protocol has no connections (identities.py), a passage id
is longer, for it is all that leads to its passage, until a token proves whose the session is.

One small lock, held for dictionary work alone: nothing under it waits, logs or counts bytes.
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
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b

from cachetools import LRUCache, TTLCache

from server.models import Passage
from server.runtime.logs import log
from server.sessions.identities import identity_of

URI_TEMPLATE = "winnow://scratch/{session_id}/{passage_id}"

_ALPHABET = "0123456789abcdefghijklmnopqrstuv"
_SESSION_ID_LENGTH = 12
_PASSAGE_ID_LENGTH = 10  # 50 bits: 80,000 passages, a full store, have two equal ones once in 350,000 times
_SHARED_ID_LENGTH = 16  # 80 bits: the id alone leads to the passage
_URI = re.compile(
    rf"winnow://scratch/([{_ALPHABET}]{{{_SESSION_ID_LENGTH}}})/"
    rf"([{_ALPHABET}]{{{_PASSAGE_ID_LENGTH}}}|[{_ALPHABET}]{{{_SHARED_ID_LENGTH}}})"
)

# 10,000 take about 5 MB; a host that opens a new connection for each call must not grow the process.
MAX_SESSIONS = 10_000
# What an entry takes beside its text: keys, links, the passage's records. Measured: 2,290 bytes with short names.
ENTRY_OVERHEAD_BYTES = 3072
# Beyond this, passages are likely to leave while somebody still reads them.
MANY_EVICTIONS_A_MINUTE = 100
_WINDOW_SECONDS = 60.0

_Key = tuple[str, str]
_SessionKey = tuple[bool, str]  # whether it is shared, and the key of its identity


@dataclass(frozen=True, slots=True)
class PassageLink:
    """Where a client finds a passage of its session, and what it is; fields as ``StoredPassage`` has them."""

    passage_id: str
    uri: str
    title: str
    size_bytes: int
    created_at: str


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage as a session holds it.

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
        """Where a client reads it as a resource."""
        return URI_TEMPLATE.format(session_id=self.session_id, passage_id=self.passage_id)

    @property
    def link(self) -> PassageLink:
        """The way to it, without its text."""
        return PassageLink(
            self.passage_id, self.uri, self.passage.document.title, self.size_bytes, self.created_at
        )


@dataclass(frozen=True, slots=True)
class PassageStoreCounters:
    """What has happened since the start (``kept`` to ``expirations``), and what is there now.

    ``evictions`` are passages that left before their time, for want of room or with their session.
    """

    kept: int
    hits: int
    misses: int
    evictions: int
    expirations: int
    entries: int
    bytes: int
    sessions: int


def parse_uri(uri: str) -> tuple[str, str] | None:
    """The session id and the passage id of a scratch URI; None for anything that is not one, to the letter.

    >>> parse_uri("winnow://scratch/0123456789ab/0123456789")
    ('0123456789ab', '0123456789')
    """
    match = _URI.fullmatch(uri)
    return (match[1], match[2]) if match else None


class Session:
    """One session's view of the store. ``id`` is public and grants nothing.

    ``is_shared`` and ``is_proven`` are those of its identity; a session that was proven once stays so.
    """

    __slots__ = ("_secret", "_store", "id", "is_proven", "is_shared")

    def __init__(self, store: PassageStore, *, is_shared: bool = False) -> None:
        self.id = _letters(secrets.token_bytes(_SESSION_ID_LENGTH))
        self.is_shared = is_shared
        self.is_proven = not is_shared
        self._secret = secrets.token_bytes(32)
        self._store = store

    def keep(self, passage: Passage, project: str) -> StoredPassage:
        """Keep a passage, or renew its time; the same passage always has the same ``passage_id``.

        A passage that is larger than the whole store is not kept: its id is good, and unknown when it is read.
        """
        kept = StoredPassage(
            passage_id=self._name(passage, project),
            session_id=self.id,
            project=project,
            passage=passage,
            created_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            size_bytes=len(passage.chunk.text.encode("utf-8", "replace")),
        )
        self._store.put(kept, self)
        return kept

    def get(self, passage_id: str) -> StoredPassage | None:
        """The passage, which counts as a use; None where this session may not read it, for whatever reason.

        A shared session reads its own, and those of unproven sessions.
        """
        return self._store.get(self.id, passage_id, shared=self.is_shared)

    def ids(self, prefix: str = "", limit: int = 100) -> list[str]:
        """At most ``limit`` passage ids that begin with ``prefix``, the last kept first."""
        return [known for known in self._store.ids(self.id) if known.startswith(prefix)][:limit]

    def _name(self, passage: Passage, project: str) -> str:
        named = f"{project}\0{passage.chunk.id}".encode("utf-8", "surrogatepass")
        length = _SHARED_ID_LENGTH if self.is_shared else _PASSAGE_ID_LENGTH
        return _letters(blake2b(named, key=self._secret, digest_size=length).digest())


class PassageStore:
    """The store of one process, for all its sessions; threads may use it at the same time.

    ``max_bytes`` bounds what its entries take in memory, ``ttl_seconds`` how long one is kept after it was last
    shown, ``max_sessions`` how many are remembered; ``now`` tells seconds from any fixed moment.
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
        self._entries = _Entries(max_bytes, ttl_seconds, now, self._left)
        self._sessions = _Sessions(max_sessions, self._ended)
        self._ids: dict[str, dict[str, None]] = {}  # session id -> passage ids, oldest first
        self._shared: dict[str, Session] = {}  # passage id -> the shared session that holds it
        self._kept = self._hits = self._misses = self._evictions = self._expirations = 0
        self._alarm = _Alarm(now)

    def session(self, key: str) -> Session:
        """The session of this connection; a new one where it has none, or was not heard of for too long."""
        identity = identity_of(key)
        with self._lock:
            session = self._sessions.get((identity.is_shared, identity.key))
            if session is None:
                session = Session(self, is_shared=identity.is_shared)
                self._sessions[identity.is_shared, identity.key] = session
                self._ids[session.id] = {}
            session.is_proven = session.is_proven or identity.is_proven
            return session

    @property
    def counters(self) -> PassageStoreCounters:
        """What an operator wants to know."""
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
            )

    def put(self, kept: StoredPassage, session: Session) -> None:
        """Keep it for its session, if that still stands and there can be room."""
        entry = _Entry(kept, _footprint(kept.passage))
        with self._lock:
            before = self._evictions
            if kept.session_id in self._ids:
                self._replace(kept, entry)
                if session.is_shared and (kept.session_id, kept.passage_id) in self._entries:
                    self._shared[kept.passage_id] = session
            alarming = self._alarm.rings(self._evictions - before)
        if alarming:
            log(
                "passages are evicted often; raise the setting scratch_mb if reads answer 'unknown'",
                level=logging.WARNING,
                evictions_in_a_minute=alarming,
            )

    def get(self, session_id: str, passage_id: str, *, shared: bool = False) -> StoredPassage | None:
        """What this session holds under this id; with ``shared``, what another unproven session holds, too."""
        with self._lock:
            self._entries.expire()
            holder = self._shared.get(passage_id) if shared else None
            if holder is not None and not holder.is_proven:
                session_id = holder.id
            entry = self._entries.get((session_id, passage_id))
            self._hits, self._misses = self._hits + (entry is not None), self._misses + (entry is None)
        return entry.kept if entry else None

    def ids(self, session_id: str) -> list[str]:
        """The ids of all that this session holds, the last kept first."""
        with self._lock:
            self._entries.expire()
            known = list(self._ids.get(session_id, ()))
        return known[::-1]

    # Called with the lock held.

    def _replace(self, kept: StoredPassage, entry: _Entry) -> None:
        self._remove((kept.session_id, kept.passage_id))
        if entry.bytes > self._entries.maxsize:
            return
        self._entries[kept.session_id, kept.passage_id] = entry
        self._ids[kept.session_id][kept.passage_id] = None
        self._kept += 1

    def _remove(self, key: _Key) -> None:
        self._ids[key[0]].pop(key[1], None)
        self._shared.pop(key[1], None)
        with suppress(KeyError):  # raised for an entry that has just expired, too, which is removed all the same
            del self._entries[key]

    def _left(self, kept: StoredPassage, *, expired: bool) -> None:
        self._ids[kept.session_id].pop(kept.passage_id, None)
        self._shared.pop(kept.passage_id, None)
        self._expirations += expired
        self._evictions += not expired

    def _ended(self, session: Session) -> None:
        for passage_id in list(self._ids[session.id]):
            self._remove((session.id, passage_id))
            self._evictions += 1
        del self._ids[session.id]


@dataclass(frozen=True, slots=True)
class _Entry:
    kept: StoredPassage
    bytes: int


class _Entries(TTLCache[_Key, _Entry]):
    """The least recently used leave first; says what left, and whether its time was up."""

    def __init__(
        self, max_bytes: int, ttl_seconds: float, now: Callable[[], float], left: Callable[..., None]
    ) -> None:
        super().__init__(max_bytes, ttl_seconds, timer=now, getsizeof=lambda entry: entry.bytes)
        self._left = left

    def expire(self, time: float | None = None) -> list[tuple[_Key, _Entry]]:
        expired = list(super().expire(time))
        for _, entry in expired:
            self._left(entry.kept, expired=True)
        return expired

    def popitem(self) -> tuple[_Key, _Entry]:
        key, entry = super().popitem()
        self._left(entry.kept, expired=False)
        return key, entry


class _Sessions(LRUCache[_SessionKey, Session]):
    """The least recently used leave first; says which."""

    def __init__(self, limit: int, ended: Callable[[Session], None]) -> None:
        super().__init__(limit)
        self._ended = ended

    def popitem(self) -> tuple[_SessionKey, Session]:
        key, session = super().popitem()
        self._ended(session)
        return key, session


class _Alarm:
    """Rings when evictions come often, at most once a minute."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since = now()
        self._count = 0
        self._rung = False

    def rings(self, evictions: int) -> int:
        """Count these; how many there were within a minute, when that is worth a line, else 0."""
        if self._now() - self._since >= _WINDOW_SECONDS:
            self._since, self._count, self._rung = self._now(), 0, False
        self._count += evictions
        if self._rung or self._count <= MANY_EVICTIONS_A_MINUTE:
            return 0
        self._rung = True
        return self._count


def _letters(data: bytes) -> str:
    """One character of ``0-9a-v`` for each byte: its lower five bits."""
    return "".join(_ALPHABET[byte & 31] for byte in data)


def _footprint(passage: Passage) -> int:
    """Bytes of memory that a passage takes: Python's own size of what its source may make long, and the rest."""
    chunk, document = passage.chunk, passage.document
    metadata = repr(dict(document.metadata)) if document.metadata else ""
    long = (chunk.text, *chunk.heading_path, document.title, document.uri, *document.tags, metadata, metadata)
    return ENTRY_OVERHEAD_BYTES + sum(map(sys.getsizeof, long))
