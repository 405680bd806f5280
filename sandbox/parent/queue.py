"""Who runs next: a bounded queue for workers' places, fair between clients.

A free place goes to the waiting client that holds the fewest; among equals, to the one that was given a place the
longest ago (so: round robin); within a client, to the one that came first. A full queue still has room for a
client that waits with less than others do: the newest entry of the client with the most gives way. One client with
a thousand scripts therefore delays another by one script, and never shuts it out.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import Counter, deque

_SHORTEST_RETRY_SECONDS, _LONGEST_RETRY_SECONDS = 1, 60
_MEMORY = 0.9  # how much of the mean duration is the past: about the last ten scripts count


class ScriptQueueFull(Exception):
    """No place, and no room to wait or none came free in time. ``retry_after_s``: when it is worth another try."""

    def __init__(self, waiting: int, retry_after_s: int) -> None:
        super().__init__(f"all workers are busy and {waiting} scripts wait")
        self.waiting = waiting
        self.retry_after_s = retry_after_s


class ScriptQueue:
    """``places`` for scripts that run at once, ``room`` for those that wait, each at most ``patience`` seconds."""

    def __init__(self, places: int, room: int, patience: float) -> None:
        self._places = places
        self._room = room
        self._patience = patience
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._served: dict[str, int] = {}  # client -> when it last got a place, counted in places given
        self._given = itertools.count(1)
        self._mean_seconds = 0.0

    @property
    def running(self) -> int:
        """How many hold a place."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        """How many wait for one."""
        return sum(map(len, self._waiting.values()))

    async def enter(self, client: str) -> None:
        """Take a place, now or in turn. Raises QueueFull."""
        if self.running < self._places and not self._waiting:
            self._give(client)
            return
        self._make_room(client)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        try:
            async with asyncio.timeout(self._patience):
                await turn
        except TimeoutError:
            if not _given(turn):  # else the place came at the last moment
                raise self._full() from None
        except BaseException:
            if _given(turn):
                self._take_back(client)
            raise
        finally:
            self._forget(client, turn)

    def leave(self, client: str, seconds: float) -> None:
        """Give a place back after so many seconds, to whoever is next."""
        known = self._mean_seconds or seconds
        self._mean_seconds = _MEMORY * known + (1 - _MEMORY) * seconds
        self._take_back(client)

    # --- turns ---

    def _give(self, client: str) -> None:
        self._running[client] += 1
        self._served[client] = next(self._given)

    def _take_back(self, client: str) -> None:
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        self._next()
        if not self._waiting:
            self._served = {name: at for name, at in self._served.items() if name in self._running}

    def _next(self) -> None:
        while self._waiting and self.running < self._places:
            client = min(self._waiting, key=lambda name: (self._running[name], self._served.get(name, 0)))
            turn = self._waiting[client][0]
            self._forget(client, turn)
            if not turn.done():
                self._give(client)
                turn.set_result(None)

    def _forget(self, client: str, turn: asyncio.Future[None]) -> None:
        turns = self._waiting.get(client)
        if turns is not None and turn in turns:
            turns.remove(turn)
            if not turns:
                del self._waiting[client]

    # --- room ---

    def _make_room(self, client: str) -> None:
        """Make sure that one more may wait. Raises QueueFull."""
        if self.waiting < self._room:
            return
        greediest = max(self._waiting, key=lambda name: len(self._waiting[name]), default=client)
        if len(self._waiting.get(greediest, ())) <= len(self._waiting.get(client, ())) + 1:
            raise self._full()
        last = self._waiting[greediest][-1]
        self._forget(greediest, last)
        if not last.done():
            last.set_exception(self._full())

    def _full(self) -> ScriptQueueFull:
        seconds = self._mean_seconds * (self.waiting + 1) / self._places
        return ScriptQueueFull(
            self.waiting, min(_LONGEST_RETRY_SECONDS, max(_SHORTEST_RETRY_SECONDS, math.ceil(seconds)))
        )


def _given(turn: asyncio.Future[None]) -> bool:
    return turn.done() and not turn.cancelled() and turn.exception() is None
