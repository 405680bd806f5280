"""What servers keep of a store is passed by, and ended, where somebody asks for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flow.test_commands import winnow
from winnow.server.commands.entry.app import open_application
from winnow.server.engine import endpoint
from winnow.server.settings.loading import load_settings

pytestmark = [pytest.mark.anyio, pytest.mark.both_users]


@pytest.mark.parametrize(
    "starts_engine",
    [
        False,
        pytest.param(
            True,
            marks=pytest.mark.skipif(not endpoint.is_supported(), reason="engines are not shared on this system"),
        ),
    ],
)
async def test_a_kept_ranking_is_used_unless_its_caller_or_an_operator_wants_a_new_one(
    tmp_path: Path, *, starts_engine: bool
) -> None:
    store, notes = tmp_path / "store", tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Pumps\n\nA pump needs oil.\n", "utf-8")
    assert winnow("ingest", str(notes), "--project", "notes", "--store", str(store)).returncode == 0
    settings = load_settings(store=store, project="notes", embedding="off", execute_code="off")
    async with open_application(settings, wait_for_model=False, starts_engine=starts_engine) as application:
        kb = application.kb
        usual = kb.caller("one")

        async def is_kept(caller: object = usual) -> bool:
            return (await kb.call("kb.search", {"query": "pump oil"}, caller)).cache_hit  # type: ignore[arg-type]

        assert [await is_kept() for _ in range(2)] == [False, True]
        assert await is_kept(replace(usual, is_fresh=True)) is False
        assert await is_kept() is True
        cleared = winnow("cache", "clear", "--store", str(store), "--json")
        assert (cleared.returncode, json.loads(cleared.stdout)["projects"]) == (0, ["notes"])
        assert [await is_kept() for _ in range(2)] == [False, True]
    assert winnow("doctor", "--store", str(store), "--json").stdout.count("not as it was written") == 0
