"""Bulk harvesting of metadata over HTTP: an alert, and then a limit.

Search shows ids and metadata so that a client reads what it needs. A client that has page after page of them
listed and reads hardly any copies the catalogue. So for each client, which is its access key or token, or else its
address, the distinct ids of passages and documents are counted that answers named within an hour
(``harvest_minutes``).

An alert is raised at a quarter of the corpus, at least ``FLOOR`` and at most ``harvest_passages``, while fewer
than one in fifty was read or quoted: a warning in the log, a mark in the line of the audit log, a metric. At four
times as many, further listing is a RATE_LIMIT until older ones are out of the hour; reading goes on.

What it sees are ids in answers, also in the results of scripts. What it does not see: ids that a script looks at
and does not return, which leave the machine no more than its result; clients that take their time, read one in
fifty, or have several keys. On a pipe there is one local client, whose files these are: nothing is counted there.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from winnow.server.errors import WinnowError
from winnow.server.runtime.sessions.identities import identity_of
from winnow.server.settings.settings import Settings

# An agent that works through a topic for an hour has some hundred passages named.
FLOOR = 2_000
_SHARE = 0.25
# Of ids: a row of kb_search names its passage and its section, an excerpt only the passage.
_READ_SHARE = 0.01
_LIMIT_FACTOR = 4
# One id takes about 150 bytes.
_MAX_IDS = 400_000
_SECONDS_PER_MINUTE = 60
# Ids of passages, sections and documents (``server.ids``), and no word of ten or twelve letters.
_ID = re.compile(r'"(?=[a-v]*[0-9])([0-9a-v]{10}|[0-9a-v]{12})"')
# Tools whose answers are the text of what they name.
_READING = frozenset(
    {
        "kb.read",
        "kb.read_excerpt",
        "kb.show",
        "kb.expand_excerpt",
        "kb.extract_evidence",
        "kb.retrieve_evidence",
        "docs.load.fetch",
        "research.execute",
        "wild_read",
        "get_section_text",
        "read_result",
    }
)


@dataclass(slots=True)
class _Client:
    """When one client was first shown each id, and the ids of them that it read. ``alerted``: when, if it was."""

    shown: OrderedDict[str, float] = field(default_factory=OrderedDict)
    read: set[str] = field(default_factory=set)
    alerted: float | None = None

    def forget(self, until: float) -> None:
        """Forget what was shown before that time."""
        while self.shown and next(iter(self.shown.values())) <= until:
            self.read.discard(self.shown.popitem(last=False)[0])

    @property
    def reads(self) -> bool:
        """Whether it reads some of what it is shown."""
        return len(self.read) >= _READ_SHARE * len(self.shown)


@dataclass(frozen=True, slots=True)
class HarvestAlert:
    """A client that lists much and reads hardly any of it."""

    shown: int
    read: int
    corpus: int


class HarvestGuard:
    """Counts of what clients over HTTP were shown and read. ``now``: a clock in seconds."""

    def __init__(self, settings: Settings, now: Callable[[], float] = time.monotonic) -> None:
        self._mode = settings.harvest
        self._most = settings.harvest_passages
        self._window = settings.harvest_minutes * _SECONDS_PER_MINUTE
        self._now = now
        self._clients: OrderedDict[str, _Client] = OrderedDict()
        self._corpus = 0

    def check(self, connection: str, address: str, tool: str) -> None:
        """Raise ``WinnowError("RATE_LIMIT")`` if the client listed too much to call this tool now."""
        client = self._find(connection, address)
        if client is None or self._mode != "limit" or tool in _READING:
            return
        client.forget(self._now() - self._window)
        beyond = len(client.shown) - _LIMIT_FACTOR * self._threshold()
        if beyond < 0 or client.reads:
            return
        oldest = list(client.shown.values())[beyond]
        wait = max(0.1, round(oldest + self._window - self._now(), 1))
        raise WinnowError(
            "RATE_LIMIT",
            f"{len(client.shown):,} passages were listed for this client within {self._window / 60:.0f} minutes "
            f"and {len(client.read):,} read; read what you need of them, or list more in {wait:g} s",
            retryable=True,
            retry_after_s=wait,
        )

    def is_counted(self, address: str) -> bool:
        """Whether calls from this address are counted: "" is a pipe."""
        return bool(address) and self._mode != "off"

    def note(self, connection: str, address: str, tool: str, text: str, corpus: int) -> HarvestAlert | None:
        """Count the ids in the text of an answer; returns an alert if there is a new one.

        ``corpus``: the passages that the server has.
        """
        self._corpus = corpus
        name = self._name(connection, address)
        client = self._clients.setdefault(name, _Client())
        self._clients.move_to_end(name)
        now, is_reading = self._now(), tool in _READING
        client.forget(now - self._window)
        for id in set(_ID.findall(text)):
            client.shown.setdefault(id, now)
            if is_reading:
                client.read.add(id)
        self._drop_oldest()
        if len(client.shown) < self._threshold() or client.reads:
            return None
        if client.alerted is not None and now - client.alerted < self._window:
            return None
        client.alerted = now
        return HarvestAlert(len(client.shown), len(client.read), corpus)

    def _threshold(self) -> int:
        """The number of ids in the window that raises an alert."""
        return max(min(self._most, round(_SHARE * self._corpus)), min(self._most, FLOOR))

    def _find(self, connection: str, address: str) -> _Client | None:
        return self._clients.get(self._name(connection, address)) if self.is_counted(address) else None

    def _name(self, connection: str, address: str) -> str:
        identity = identity_of(connection)
        return identity.key if identity.access_key else f"address:{address}"

    def _drop_oldest(self) -> None:
        """Forget the clients that called longest ago where all together have too many ids."""
        while len(self._clients) > 1 and sum(len(each.shown) for each in self._clients.values()) > _MAX_IDS:
            self._clients.popitem(last=False)
