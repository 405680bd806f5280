"""Capacities of a server, the use of each, and the warning when most of it is used.

``CAPACITIES`` is the table. A warning is logged once when a capacity is used to ``WARN_RATIO``, and again only
after it was used to less than ``CLEAR_RATIO``: a figure that moves around the bound does not fill the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from winnow.server.runtime.logs import log

WARN_RATIO, CLEAR_RATIO = 0.8, 0.7

# Of a disk counts what the store takes and may take, not what others have there. A small store counts as this.
_LEAST_STORE_BYTES = 512 << 20

Figures = Mapping[str, Any]
# Names, each with what is used and the most that may be; a most of 0 means that nothing is limited.
Used = Iterator[tuple[str, float, float]]


def _caches(figures: Figures) -> Used:
    for name, counts in figures.get("caches", {}).items():
        yield f"cache {name}", counts["entries"], counts["capacity"]


def _passages(figures: Figures) -> Used:
    scratch = figures.get("scratch", {})
    if "capacity_bytes" in scratch:
        yield "passages", scratch["bytes"], scratch["capacity_bytes"]


def _queue(figures: Figures) -> Used:
    yield "queue", figures["queue"]["waiting"], figures["queue"]["capacity"]


def _disk(figures: Figures) -> Used:
    disk = figures["disk"]
    if disk["total_bytes"]:
        used = max(sum(disk["parts"].values()), _LEAST_STORE_BYTES)
        yield "disk", used, used + disk["room_bytes"]


def _jobs(figures: Figures) -> Used:
    ingest = figures["ingest"]
    yield "jobs", sum(ingest["jobs"].values()), ingest["jobs_capacity"]


def _rates(figures: Figures) -> Used:
    for kind, rate in figures.get("rates", {}).items():
        yield f"rate {kind}", rate["most_calls"], rate["allowed"]


def _connections(figures: Figures) -> Used:
    if http := figures.get("http"):
        yield "connections", http["connections"], http["capacity"]


# Capacity -> its figures, and what happens when it is used up, with what an operator does then.
CAPACITIES: Mapping[str, tuple[Callable[[Figures], Used], str]] = MappingProxyType(
    {
        "caches": (_caches, "the oldest entries are dropped and searched again; more memory does not help"),
        "passages": (_passages, "passages are forgotten before sessions have read them; raise scratch_mb"),
        "queue": (_queue, "further scripts are refused; raise workers or queue, or have clients send fewer"),
        "disk": (_disk, "an ingest stops when the disk is full; free space, or move the store: winnow migrate"),
        "jobs": (_jobs, "further ingests are refused; see winnow jobs"),
        "rates": (_rates, "a client is about to be refused for a while; raise its rate, or have it use scripts"),
        "connections": (_connections, "further connections are closed; raise the limit of open files"),
    }
)


class Alerts:
    """Remembers which capacities were nearly used up, so that each crossing is logged once."""

    def __init__(self) -> None:
        self._active: set[str] = set()

    def update(self, figures: Figures) -> dict[str, Any]:
        """The ratios of all capacities, and which are nearly used up; logs what has changed.

        ``{"capacities": {name: ratio}, "alerts": {name: 0 or 1}}``
        """
        ratios: dict[str, float] = {}
        for used_of, advice in CAPACITIES.values():
            for name, used, most in used_of(figures):
                if most:
                    ratios[name] = round(used / most, 4)
                    self._note(name, used / most, advice)
        self._active &= ratios.keys()
        return {"capacities": ratios, "alerts": {name: int(name in self._active) for name in ratios}}

    def _note(self, name: str, ratio: float, advice: str) -> None:
        if ratio >= WARN_RATIO and name not in self._active:
            self._active.add(name)
            log(
                "a capacity is nearly used up",
                level=logging.WARNING,
                name=name,
                used=round(ratio, 4),
                advice=advice,
            )
        elif ratio < CLEAR_RATIO and name in self._active:
            self._active.discard(name)
            log("a capacity has room again", name=name, used=round(ratio, 4))
