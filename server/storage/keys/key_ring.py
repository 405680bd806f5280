"""The keys of a store as a running server uses them.

Theory of operation. The file is looked at before each use, by its state, and read again when that has changed: a
key that is revoked, rotated or added counts from the next request on. A server that has seen one key needs keys
from then on, also when the file is deleted, damaged or has only revoked keys; then it accepts none. The log says
when a file that was in use cannot be used any more, and when it can again.

scrypt takes tens of milliseconds. So a key that was verified is remembered with the hash that it matched, by a
digest under a secret of this process: the table holds nothing that a client could send. It outlives changes of the
file, so that clients at an address that is blocked go on while keys are added, and counts as long as the file has
this hash: a rotated key has another. One hash at a time is computed,
in a thread, and few may wait for it, so that wrong keys cost at most one core.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from winnow.server.errors import WinnowError
from winnow.server.runtime.logs import log
from winnow.server.storage.files.private_records import FileState
from winnow.server.storage.keys.hashing import matches
from winnow.server.storage.keys.key_file import is_lost, read_keys, state_of
from winnow.server.storage.keys.records import MAX_KEYS, AccessKey, KeyText

# A client that connects at the start waits for those before it: eight take a second at most.
_MAX_WAITING = 8
_NO_STATE = object()
_NO_KEYS: Mapping[str, AccessKey] = MappingProxyType({})


class _Match(NamedTuple):
    """The hash that a text was verified to match."""

    salt: str
    digest: str


class KeyRing:
    """The keys of one store. Used from one event loop. ``now``: a clock in seconds since 1970.

    ``allows_loss``: where the keys were lost, the store counts as one without keys; the operator asked for that.
    """

    def __init__(self, store: Path, now: Callable[[], float] = time.time, *, allows_loss: bool = False) -> None:
        self._store = store
        self._now = now
        self._allows_loss = allows_loss
        self._state: FileState | object | None = _NO_STATE
        self._keys = _NO_KEYS
        self._is_needed = False
        self._problem = ""
        self._process_secret = secrets.token_bytes(32)
        self._verified: OrderedDict[bytes, _Match] = OrderedDict()  # by the digest of a key's text
        self._ended: set[bytes] = set()  # the digests of keys that were found to have ended
        self._hashing = asyncio.Lock()
        self._waiting = 0

    @property
    def is_needed(self) -> bool:
        """Whether clients need a key: the store has or had one, or its file cannot be used."""
        self._refresh()
        return self._is_needed

    @property
    def problem(self) -> str:
        """Why the file of keys cannot be used; "" if it can."""
        self._refresh()
        return self._problem

    @property
    def active_count(self) -> int:
        """The number of keys that are accepted now."""
        return len(self.active_keys())

    def active_keys(self) -> tuple[AccessKey, ...]:
        """The keys that are accepted now."""
        self._refresh()
        return tuple(key for key in self._keys.values() if key.state(self._now()) == "active")

    def is_active(self, key: AccessKey) -> bool:
        """Whether exactly this key is still accepted: not revoked, not expired, not rotated."""
        self._refresh()
        return self._keys.get(key.id) == key and key.state(self._now()) == "active"

    def recall(self, text: KeyText) -> AccessKey | None:
        """The key of this text, if it was verified before; None says nothing about the key."""
        self._refresh()
        key = self._keys.get(text.id)
        if key is None or self._verified.get(self._fingerprint(text)) != _Match(key.salt, key.digest):
            return None
        return key if key.state(self._now()) == "active" else None

    async def verify(self, text: KeyText) -> AccessKey | None:
        """The key of this text; None if it is unknown, wrong, revoked or expired.

        Raises ``WinnowError("QUEUE_FULL")`` while too many other keys wait to be verified.
        """
        self._refresh()
        key = self._keys.get(text.id)
        if key is None or key.state(self._now()) != "active":
            return None
        if not await self._matches(text, key.salt, key.digest) or not self.is_active(key):
            return None
        self._verified[self._fingerprint(text)] = _Match(key.salt, key.digest)
        if len(self._verified) > MAX_KEYS:
            self._verified.popitem(last=False)
        return key

    def recall_ended(self, text: KeyText) -> bool:
        """Whether this text was found to be a key that has ended; False says nothing about it."""
        self._refresh()
        return self._fingerprint(text) in self._ended

    async def has_ended(self, text: KeyText) -> bool:
        """Whether this text is a key that was revoked, that expired or was rotated. Raises as ``verify``."""
        self._refresh()
        key, state = self._keys.get(text.id), self._state
        if key is None:
            return False
        hashes = [_Match(each.salt, each.digest) for each in key.former]
        if key.state(self._now()) != "active":
            hashes.insert(0, _Match(key.salt, key.digest))
        for salt, digest in hashes:
            if await self._matches(text, salt, digest):
                if self._state == state and len(self._ended) < MAX_KEYS:
                    self._ended.add(self._fingerprint(text))
                return True
        return False

    async def _matches(self, text: KeyText, salt: str, digest: str) -> bool:
        if self._waiting >= _MAX_WAITING:
            raise WinnowError(
                "QUEUE_FULL", "too many keys are being verified; try again", retryable=True, retry_after_s=1.0
            )
        self._waiting += 1
        try:
            async with self._hashing:
                return await asyncio.to_thread(matches, text.secret, salt, digest)
        finally:
            self._waiting -= 1

    def _fingerprint(self, text: KeyText) -> bytes:
        return hashlib.blake2b(str(text).encode("ascii"), key=self._process_secret, digest_size=32).digest()

    def _refresh(self) -> None:
        """Read the file again if it has changed."""
        state = state_of(self._store)
        if state == self._state:
            return
        self._ended.clear()  # a restored backup may bring a key back
        is_in_use, before = self._state is not _NO_STATE, self._problem
        self._state = state
        try:
            is_allowed = self._allows_loss and is_lost(self._store)
            keys, self._problem = () if is_allowed else read_keys(self._store), ""
        except WinnowError as error:
            keys, self._problem = (), error.message
        self._keys = MappingProxyType({key.id: key for key in keys})
        self._is_needed = self._is_needed or bool(keys) or bool(self._problem)
        if is_in_use and self._problem and not before:
            log("the keys cannot be used, so every key is refused", level=logging.ERROR, why=self._problem)
        elif before and not self._problem:
            log("the keys can be used again", keys=len(keys))
