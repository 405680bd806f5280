"""A bounded queue for the workers' places, fair between clients.

A free place goes to the waiting client that holds the fewest places; among equals, to the client that got a place
the longest ago (round robin); within a client, to the script that came first. A full queue still accepts a client
that has fewer scripts waiting than others: the newest entry of the client with the most waiting is removed. One
client with a thousand scripts therefore delays another by one script, and never shuts it out.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections import Counter, deque

_SHORTEST_RETRY_SECONDS, _LONGEST_RETRY_SECONDS = 1, 60
_SMOOTHING = 0.9  # weight of the past in the mean duration: about the last ten scripts count


class ScriptQueueFull(Exception):
    """There was no place: the queue is full, or none came free in time. ``retry_after_s``: when to try again."""

    def __init__(self, waiting: int, room: int, retry_after_s: int) -> None:
        super().__init__(waiting, room, retry_after_s)  # sandbox_outcomes.py has the message
        self.waiting = waiting
        self.room = room
        self.retry_after_s = retry_after_s


class ScriptQueue:
    """``places`` for running scripts and ``room`` for waiting ones, which wait at most ``patience`` seconds."""

    def __init__(self, places: int, room: int, patience: float) -> None:
        self._places = places
        self._room = room
        self._patience = patience
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._last_turn: dict[str, int] = {}  # client -> the number of the turn in which it last got a place
        self._turn_numbers = itertools.count(1)
        self._mean_seconds = 0.0
        self._begun: deque[float] = deque()  # when the running scripts took their places, the oldest first

    @property
    def running(self) -> int:
        """The number of scripts that hold a place."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        """The number of scripts that wait for a place."""
        return sum(map(len, self._waiting.values()))

    async def enter(self, client: str) -> None:
        """Take a place, now or in turn. Raises ScriptQueueFull."""
        if self.running < self._places and not self._waiting:
            self._grant(client)
            return
        self._make_room(client)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        try:
            async with asyncio.timeout(self._patience):
                await turn
        except TimeoutError:
            if not _was_granted(turn):  # else the place came at the last moment
                raise self._queue_full() from None
        except BaseException:
            if _was_granted(turn):
                self._release(client)
            raise
        finally:
            self._forget(client, turn)

    def end_turn(self, client: str, seconds: float) -> None:
        """Release a place after a script of so many seconds; the next script in turn gets it."""
        mean = self._mean_seconds or seconds
        self._mean_seconds = _SMOOTHING * mean + (1 - _SMOOTHING) * seconds
        self._release(client)

    def _expected_seconds(self) -> float:
        """The expected duration of a script: the mean of recent ones, or of those that run, if that is more."""
        now = time.monotonic()
        ages = [now - begun for begun in self._begun]
        return max(self._mean_seconds, sum(ages) / max(1, len(ages)))

    # --- turns ---

    def _grant(self, client: str) -> None:
        self._begun.append(time.monotonic())
        self._running[client] += 1
        self._last_turn[client] = next(self._turn_numbers)

    def _release(self, client: str) -> None:
        self._begun.popleft()
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        self._grant_free_places()
        if not self._waiting:
            self._last_turn = {name: at for name, at in self._last_turn.items() if name in self._running}

    def _grant_free_places(self) -> None:
        while self._waiting and self.running < self._places:
            client = min(self._waiting, key=lambda name: (self._running[name], self._last_turn.get(name, 0)))
            turn = self._waiting[client][0]
            self._forget(client, turn)
            if not turn.done():
                self._grant(client)
                turn.set_result(None)

    def _forget(self, client: str, turn: asyncio.Future[None]) -> None:
        turns = self._waiting.get(client)
        if turns is not None and turn in turns:
            turns.remove(turn)
            if not turns:
                del self._waiting[client]

    # --- room to wait ---

    def _make_room(self, client: str) -> None:
        """Make room for one more script to wait. Raises ScriptQueueFull."""
        if self.waiting < self._room:
            return
        largest = max(self._waiting, key=lambda name: len(self._waiting[name]), default=client)
        if len(self._waiting.get(largest, ())) <= len(self._waiting.get(client, ())) + 1:
            raise self._queue_full()
        newest = self._waiting[largest][-1]
        self._forget(largest, newest)
        if not newest.done():
            newest.set_exception(self._queue_full())

    def _queue_full(self) -> ScriptQueueFull:
        seconds = self._expected_seconds() * (self.waiting + 1) / self._places
        return ScriptQueueFull(
            self.waiting, self._room, min(_LONGEST_RETRY_SECONDS, max(_SHORTEST_RETRY_SECONDS, math.ceil(seconds)))
        )


def _was_granted(turn: asyncio.Future[None]) -> bool:
    return turn.done() and not turn.cancelled() and turn.exception() is None
