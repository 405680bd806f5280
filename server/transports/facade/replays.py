"""Idempotency: results kept for ten minutes, by content and by the key that a client chose.

Both are kept apart by client: results of one access key are never an answer to another. Requests without a key
are one client here, as in the queue of scripts; a server that needs no key answers all of them alike.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cachetools import TTLCache

from winnow.server.errors import WinnowError
from winnow.server.runtime.sessions.identities import identity_of, queue_key
from winnow.server.transports.call_results import CallResult
from winnow.server.transports.facade.problems import refusal

SECONDS = 600.0
# A result has at most 128 KiB, most have 4: some thousand results.
MAX_BYTES = 16 * 1024 * 1024
MAX_KEY_CHARS = 255
_KEY_REUSED = (
    "this Idempotency-Key was sent with another tool or other input within the last ten minutes; choose a new key "
    "for each request, and repeat a key only with the same request"
)

_Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Kept:
    """A result, and the fingerprint of the request that it answers."""

    content: str
    result: CallResult


class Replays:
    """Results of the last ten minutes. ``seconds`` and ``max_bytes`` bound them.

    Where there are too many, the client that has most of them loses its oldest: no client can push out the results
    of another that has fewer.
    """

    def __init__(self, seconds: float = SECONDS, max_bytes: int = MAX_BYTES) -> None:
        self._seconds, self._max_bytes = seconds, max_bytes
        self._kept: dict[str, TTLCache[_Place, Kept]] = {}
        self._running: dict[_Place, tuple[str, asyncio.Future[None]]] = {}

    async def by_key(
        self, client: str, key: str, content: str, call: Callable[[], Awaitable[CallResult]]
    ) -> tuple[CallResult, bool]:
        """The result of the first request with this key, and whether it is replayed.

        A request that comes while the first is answered waits for it. An error that may pass is not kept.

        Raises ``Refusal`` for a key that was sent with other content.
        """
        place = (_owner(client), "key", key)
        while True:
            content_there, running = self._running.get(place, ("", None))
            kept = self._find(place)
            if (kept and kept.content != content) or (running and content_there != content):
                raise refusal("KEY_REUSED", _KEY_REUSED)
            if kept is not None:
                return kept.result, True
            if running is None:
                break
            await asyncio.wait((running,))
        done = asyncio.get_running_loop().create_future()
        self._running[place] = content, done
        try:
            result = await call()
            if not (result.error and result.error["details"].get("retryable")):
                self._keep(place, Kept(content, result))
            return result, False
        finally:
            del self._running[place]
            done.set_result(None)

    def by_content(self, client: str, content: str) -> CallResult | None:
        """The result of the same request of the same client, if it is kept."""
        kept = self._find((_owner(client), "content", content))
        return kept.result if kept else None

    def keep(self, client: str, content: str, result: CallResult) -> None:
        """Keep a result for further requests with this content; errors are not kept."""
        if not result.failed:
            self._keep((_owner(client), "content", content), Kept(content, result))

    def _find(self, place: _Place) -> Kept | None:
        own = self._kept.get(place[0])
        return own.get(place) if own is not None else None

    def _keep(self, place: _Place, kept: Kept) -> None:
        if _size_of(kept) > self._max_bytes:
            return
        own = self._kept.get(place[0])
        if own is None:
            own = self._kept[place[0]] = TTLCache(self._max_bytes, self._seconds, getsizeof=_size_of)
        own[place] = kept
        self._make_room()

    def _make_room(self) -> None:
        for owner, results in list(self._kept.items()):
            results.expire()
            if not results:
                del self._kept[owner]
        while sum(results.currsize for results in self._kept.values()) > self._max_bytes:
            max(self._kept.values(), key=lambda results: results.currsize).popitem()


def fingerprint_of(tool: str, arguments: Mapping[str, Any], state: str = "") -> str:
    """The fingerprint of a request; ``state`` is that of the index, where the answer depends on it."""
    text = json.dumps([tool, arguments, state], sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def check_key(values: list[str]) -> str:
    """The idempotency key of a request; "" for none.

    Raises ``WinnowError("INVALID_REQUEST")`` for several keys, and for one of other characters.
    """
    if not values:
        return ""
    (key, *others) = values
    if others or not (0 < len(key) <= MAX_KEY_CHARS and key.isascii() and key.isprintable()):
        raise WinnowError(
            "INVALID_REQUEST",
            f"Idempotency-Key takes one text of 1 to {MAX_KEY_CHARS} printable ASCII characters, such as a UUID",
        )
    return key


def _owner(client: str) -> str:
    # The name of a key's connections states its rights, so a key with other rights has other results.
    return client if identity_of(client).access_key else queue_key(client)


def _size_of(kept: Kept) -> int:
    # The text of a result is not in its usage here, and is no longer than its payload may be.
    images = sum(len(image.data) for image in kept.result.images)
    return 2 * int(kept.result.usage["bytes"]) + images
