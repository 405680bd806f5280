"""Real sandboxes for the tests, one of each kind, kept for a whole module."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from winnow.sandbox import Layers, Limits, Outcome, Reply, Sandbox

ROW = {
    "id": "guide#1",
    "title": "Retries",
    "score": 0.5,
    "preview": "Retry three times.",
    "metadata": {"tag": "x"},
}


async def answer(method: str, params: Mapping[str, Any]) -> Reply:
    """A host with one row that repeats the call."""
    page = {"mode": "preview", "count": 1, "results": [ROW], "asked": [method, dict(params)]}
    return Reply(page, rows=1, tokens=10)


class Bench:
    """A sandbox that tests use without await."""

    def __init__(self, layers: Layers, **options: Any) -> None:
        self._loop = asyncio.Runner()
        self.sandbox = Sandbox(layers=layers, **options)
        self._loop.run(self.sandbox.start())

    def run(self, code: str, **options: Any) -> Outcome:
        """Run one script, with the host of one row behind it."""
        options.setdefault("call", answer)
        return self._loop.run(self.sandbox.run(code, **options))

    def wait(self, work: Any) -> Any:
        """Run something else on the same loop."""
        return self._loop.run(work)

    def close(self) -> None:
        """Leave nothing behind."""
        self._loop.run(self.sandbox.close())
        self._loop.close()


def _bench(layers: Layers, **options: Any) -> Iterator[Bench]:
    bench = Bench(layers, **options)
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """The whole sandbox."""
    yield from _bench(Layers(), limits=Limits(wall_seconds=10.0))


@pytest.fixture(scope="module")
def fence() -> Iterator[Bench]:
    """The language's half alone."""
    yield from _bench(Layers(walls=False), limits=Limits(wall_seconds=10.0))


@pytest.fixture(scope="module")
def walls() -> Iterator[Bench]:
    """The kernel's half alone."""
    yield from _bench(Layers(fence=False), limits=Limits(wall_seconds=10.0))
