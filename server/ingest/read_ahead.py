"""Work in two places at once: read and cut the next documents while the last ones are being embedded."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

T = TypeVar("T")


def read_ahead(items: Iterable[T], most: int, weight: Callable[[T], int]) -> Generator[T, None, None]:
    """The items in their order, produced by a thread of its own that runs ahead of the loop over them.

    The item in use and those that wait weigh less than ``most`` before another one joins them; one more may be in
    the making. What the producer raises is raised here. Closing the iterator (or an exception in the loop over it)
    ends the thread before its next item.
    """
    waiting: deque[T | None] = deque()  # None: there is no more
    errors: list[BaseException] = []
    held, is_closed = 0, False
    change = threading.Condition()

    def put(item: T | None) -> bool:
        """Have the item wait, as soon as there is room; whether more is wanted."""
        nonlocal held
        with change:
            change.wait_for(lambda: is_closed or item is None or held < most)
            waiting.append(item)
            held += weight(item) if item is not None else 0
            change.notify_all()
            return not is_closed

    def produce() -> None:
        try:
            for item in items:
                if not put(item):
                    return
                del item  # the next one may take long to make
        except BaseException as error:
            errors.append(error)
        put(None)

    thread = threading.Thread(target=produce, name="winnow-reader", daemon=True)
    thread.start()
    try:
        while True:
            with change:
                change.wait_for(lambda: bool(waiting))
                item = waiting.popleft()
            if item is None:
                break
            load = weight(item)
            yield item
            del item  # it is done with, and may be large
            with change:
                held -= load
                change.notify_all()
        if errors:
            raise errors[0]
    finally:
        with change:
            is_closed = True
            change.notify_all()
        thread.join()
