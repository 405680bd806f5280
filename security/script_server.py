"""A server's scripts over a small store, for attacks on what a run may take in and on what a session keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from winnow.sandbox import Outcome
from winnow.security.surface import winnow

# The settings of a server over that store.
STORE = MappingProxyType({"store": "store", "project": "p", "daemon": "off", "embedding": "off"})
_SECTIONS, _PARAGRAPH = (
    60,
    "A canary sings at dawn, and number {0} of page {1} is written down by the keeper. " * 12,
)


def make_pages(count: int) -> None:
    """Make a store with so many documents of about 60 KB each, all different and all about canaries."""
    Path("documents").mkdir()
    for page in range(count):
        sections = (f"## Canary {number}\n\n{_PARAGRAPH.format(number, page)}" for number in range(_SECTIONS))
        Path(f"documents/{page}.md").write_text(f"# Page {page}\n\n" + "\n\n".join(sections), "utf-8")
    done = winnow("ingest", "documents", "--store", "store", "--project", "p")
    assert done.returncode == 0, done.stderr


def run_scripts(server: AbstractAsyncContextManager[Any], scripts: Sequence[tuple[str, str]]) -> list[Outcome]:
    """Run scripts, each a client and its code, one after the other; ``server``: of ``open_application``."""

    async def run_all() -> list[Outcome]:
        async with server as application:
            await application.ready()
            return [await application.scripts.run(code, client=client) for client, code in scripts]

    return asyncio.run(run_all())


def results_of(server: AbstractAsyncContextManager[Any], codes: Iterable[str]) -> list[Any]:
    """The results of scripts of one client, none of which may fail."""
    outcomes = run_scripts(server, [("one", code) for code in codes])
    assert all(outcome.status == "ok" for outcome in outcomes), [outcome.error for outcome in outcomes]
    return [outcome.result for outcome in outcomes]
