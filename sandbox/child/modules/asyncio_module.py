"""``asyncio`` as scripts see it: a table of our own versions.

SDK calls answer at once, so nothing here waits for anything outside. What a script gains is that code written with
``await``, ``gather`` and semaphores runs unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from winnow.sandbox.child.language.allow_list import ALLOWED

from . import asyncio_locks, asyncio_loop, asyncio_queues, asyncio_waiting

_PARTS = (asyncio_loop, asyncio_waiting, asyncio_locks, asyncio_queues)

# The files whose coroutines count as the script's when they are never awaited.
FILES = tuple(str(part.__file__) for part in _PARTS)


def _find(name: str) -> Any:
    return next(getattr(part, name) for part in _PARTS if hasattr(part, name))


OWN: Mapping[str, Any] = {
    **{name: _find(name) for name in ALLOWED["asyncio"] if name != "TimeoutError"},
    "TimeoutError": TimeoutError,
}
