"""A server that ingests for agents, and a private folder beside the allowed one, for the attacks ``jobs``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from winnow.security.surface import winnow

SECRET = "a-private-word"
# The settings of the server, beside ``ingest_roots``.
SERVER = MappingProxyType(
    {"store": "store", "project": "p", "daemon": "off", "embedding": "off", "graph": "off", "enable_writes": True}
)
_POLL_SECONDS = 0.05
_UNFINISHED = ("queued", "running")


def make_folders() -> tuple[Path, Path]:
    """The folder ``allowed`` with a note, and ``private`` with the secret; the store has the projects p and q."""
    allowed, private = Path("allowed").absolute(), Path("private").absolute()
    for folder, words in ((allowed, "Harmless words."), (private, f"{SECRET} of somebody else.")):
        folder.mkdir()
        (folder / "note.md").write_text(f"# A note\n\n{words}\n", "utf-8")
    for project in ("p", "q"):
        done = winnow("project", "create", project, "--store", "store")
        assert done.returncode == 0, done.stderr
    return allowed, private


def call_all(
    server: AbstractAsyncContextManager[Any], calls: Iterable[tuple[str, Mapping[str, Any]]]
) -> list[dict[str, Any]]:
    """The answers to the calls of one agent, jobs as at their end; a refusal is its reason under "refused".

    ``server``: of ``open_application``.
    """

    async def call(kb: Any, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            payload = (await kb.call(operation, arguments, kb.caller("agent"))).payload
            while payload.get("state") in _UNFINISHED:
                await asyncio.sleep(_POLL_SECONDS)
                payload = (await kb.call("job_status", {"job_id": payload["job_id"]}, kb.caller("agent"))).payload
        except Exception as error:
            return {"refused": getattr(error, "reason", type(error).__name__), "message": str(error)}
        return dict(payload)

    async def run() -> list[dict[str, Any]]:
        async with server as application:
            return [await call(application.kb, operation, arguments) for operation, arguments in calls]

    return asyncio.run(run())


def ingests_of(*sources: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Calls that ask for these sources."""
    return [("ingest_from_source", {"project": "p", "source": source}) for source in sources]


def has_secret() -> bool:
    """Whether a search finds the secret."""
    return SECRET.encode() in winnow("search", SECRET, "--store", "store", "--project", "p", "--json").stdout


def can_read(path: Path | str) -> bool:
    """The behaviour of a server without roots: whether the secret is in the file, or in a note of the folder."""
    found = Path(path) / "note.md" if Path(path).is_dir() else Path(path)
    return SECRET in found.read_text("utf-8")
