"""Work in two places at once: read and cut the next documents while the last ones are being embedded."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from queue import Full, Queue
from typing import TypeVar

T = TypeVar("T")
_GLANCE_SECONDS = 0.1


def ahead(items: Iterable[T], size: int) -> Generator[T, None, None]:
    """The items in their order, produced by a thread of its own that is at most ``size`` ahead.

    What the producer raises is raised here. Closing the iterator (or an exception in the loop over it) ends
    the thread before its next item.
    """
    queue: Queue[tuple[T] | BaseException | None] = Queue(size)
    stop = threading.Event()

    def put(value: tuple[T] | BaseException | None) -> None:
        while not stop.is_set():
            try:
                queue.put(value, timeout=_GLANCE_SECONDS)
            except Full:
                continue
            return

    def produce() -> None:
        try:
            for item in items:
                put((item,))
                if stop.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    thread = threading.Thread(target=produce, name="winnow-reader", daemon=True)
    thread.start()
    try:
        while (value := queue.get()) is not None:
            if isinstance(value, BaseException):
                raise value
            yield value[0]
    finally:
        stop.set()
        thread.join()
