"""The garbage collector of a server: what an open store holds is not visited again and again."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

from tests.plain_store import index_by_words
from winnow.server.commands.entry.knowledge import make_knowledge_base

pytestmark = pytest.mark.both_users


def test_what_a_server_opens_is_left_alone_by_the_garbage_collector(tmp_path: Path) -> None:
    """One call of a script may set off a full collection, and all clients wait for its end."""
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "page.md").write_text("# Canaries\n\nA canary sings at dawn.", "utf-8")
    settings = index_by_words(documents, tmp_path / "store")

    async def open_and_close() -> None:
        kb = make_knowledge_base(settings, wait_for_model=False, runs_jobs=True)
        await kb.open()
        await kb.aclose()

    gc.unfreeze()
    try:
        asyncio.run(open_and_close())
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
