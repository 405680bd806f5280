"""Iterates in a thread that runs ahead, so that documents are read and split while others are embedded."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

T = TypeVar("T")


# How often the loop hears that it waits.
_WAIT_SECONDS = 1.0


def read_ahead(
    items: Iterable[T], most: int, weight: Callable[[T], int], on_wait: Callable[[], None] = lambda: None
) -> Generator[T, None, None]:
    """The items in order, produced by a thread that runs ahead of the loop over them.

    An item is queued once the item in use and the queued ones weigh less than ``most`` together; the thread may
    hold one more that it has just produced. An exception of ``items`` is raised here. Closing the iterator (or an
    exception in the loop over it) ends the thread before its next item. ``on_wait`` is called once a second while
    the loop waits for an item, in the loop's thread.
    """
    queue: deque[T | None] = deque()  # None marks the end
    errors: list[BaseException] = []
    held, is_closed = 0, False
    changed = threading.Condition()

    def put(item: T | None) -> bool:
        """Queue the item as soon as there is room; False if the iterator was closed."""
        nonlocal held
        with changed:
            changed.wait_for(lambda: is_closed or item is None or held < most)
            queue.append(item)
            held += weight(item) if item is not None else 0
            changed.notify_all()
            return not is_closed

    def produce() -> None:
        try:
            for item in items:
                if not put(item):
                    return
                del item  # free it: the next one may take long to produce
        except BaseException as error:
            errors.append(error)
        put(None)

    thread = threading.Thread(target=produce, name="winnow-reader", daemon=True)
    thread.start()
    try:
        while True:
            while not _has_item(changed, queue):
                on_wait()
            with changed:
                item = queue.popleft()
            if item is None:
                break
            load = weight(item)
            yield item
            del item  # free it: it may be large
            with changed:
                held -= load
                changed.notify_all()
        if errors:
            raise errors[0]
    finally:
        with changed:
            is_closed = True
            changed.notify_all()
        thread.join()


def _has_item(changed: threading.Condition, queue: deque[T]) -> bool:
    """Wait for an item, at most for a second; whether there is one."""
    with changed:
        return changed.wait_for(lambda: bool(queue), _WAIT_SECONDS)
