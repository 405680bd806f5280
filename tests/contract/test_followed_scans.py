"""Scans that are followed over many calls: the same rows and counts as one call that has all the time."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.plain_store import index_by_words
from winnow.server.commands.corpus import following, run_scan
from winnow.server.commands.corpus import scan as command
from winnow.server.commands.corpus.following import FollowedScan
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.commands.terminal.progress import INTERRUPTED
from winnow.server.errors import WinnowError
from winnow.server.operations.corpus import walking
from winnow.server.operations.knowledge import KnowledgeBase
from winnow.server.settings.settings import Settings

pytestmark = pytest.mark.anyio

DOCUMENTS = 20


def _index(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder, draw = tmp_path_factory.mktemp("files"), random.Random(5)
    for number in range(DOCUMENTS):
        words = " ".join(draw.choices(["pod", "port", "proxy", "node"], k=draw.randrange(0, 12)))
        (folder / f"{number:02}.md").write_text(f"# Page {number}\n\nThe words: {words} end\n")
    return index_by_words(folder, tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A store that no other process or fixture holds."""
    return _index(tmp_path_factory)


@pytest.fixture(scope="module")
async def kb(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KnowledgeBase]:
    base = make_knowledge_base(_index(tmp_path_factory), wait_for_model=False)
    await base.open()
    yield base
    await base.aclose()


@contextmanager
def _stopping_after(monkeypatch: pytest.MonkeyPatch, *, least: int, most: int, seed: int = 0) -> Iterator[None]:
    """Walks that run out of time after so many documents, each after another number of them."""
    draw = random.Random(seed)

    def is_over(walk: Any) -> bool:
        if not hasattr(walk, "reach"):
            walk.reach = draw.randint(least, most)
        return bool(walk.documents >= walk.reach)

    with monkeypatch.context() as patch:
        patch.setattr(walking.Walk, "_is_over", is_over)
        yield


async def _no_report(documents: int, matches: int) -> None:
    pass


async def _follow(kb: KnowledgeBase, limit: int, **options: Any) -> FollowedScan:
    scan = FollowedScan({"pattern": r"p\w+", "limit": limit, **options}, limit)
    await scan.follow(kb, _no_report)
    return scan


@pytest.mark.parametrize("limit", [1, 5, 23, 10_000])
@pytest.mark.parametrize(("least", "most"), [(1, 1), (3, 3), (7, 7), (1, 9), (4, 30)])
async def test_parts_join_to_the_whole(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, limit: int, least: int, most: int
) -> None:
    whole = (await _follow(kb, 10_000)).payload()
    with _stopping_after(monkeypatch, least=least, most=most):
        cut = (await _follow(kb, limit)).payload()
        rest, cursor = [], cut["next_cursor"]
        while cursor is not None:
            page = (await _follow(kb, limit, cursor=cursor)).payload()
            rest, cursor = rest + page["results"], page["next_cursor"]
    assert (cut["total"], cut["scanned"], cut["complete"]) == (whole["total"], whole["scanned"], True)
    assert cut["results"] == whole["results"][:limit]
    assert cut["limit_reason"] == ("page_size" if limit < len(whole["results"]) else "none")
    assert cut["results"] + rest == whole["results"]


@pytest.mark.parametrize("seed", range(8))
async def test_pages_of_a_part_that_a_later_call_does_not_reach_repeat_and_lose_nothing(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    whole = (await _follow(kb, 10_000)).payload()
    monkeypatch.setattr("winnow.server.operations.corpus.scan._SCRIPT_ROWS", 4)
    with _stopping_after(monkeypatch, least=1, most=25, seed=seed):
        cut = (await _follow(kb, 10_000)).payload()
    assert cut == whole


@pytest.mark.parametrize("seed", range(4))
async def test_counts_by_key_of_all_parts_are_added_up(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    whole = (await _follow(kb, 10_000, group_by="match")).payload()
    with _stopping_after(monkeypatch, least=1, most=9, seed=seed):
        cut = (await _follow(kb, 10_000, group_by="match")).payload()
        two = (await _follow(kb, 2, group_by="match")).payload()
    assert cut == whole
    assert (two["results"], two["partial"], two["total"]) == (whole["results"][:2], True, whole["total"])


async def test_counts_by_key_that_cannot_be_followed_are_those_of_the_first_part(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = (await _follow(kb, 10_000, group_by="document", path="0[0-3]*")).payload()

    async def stop(documents: int, matches: int) -> None:
        raise WinnowError("TIMEOUT", "stopped")

    scan = FollowedScan({"pattern": r"p\w+", "limit": 10_000, "group_by": "document"}, 10_000)
    with _stopping_after(monkeypatch, least=4, most=4), pytest.raises(WinnowError, match="stopped"):
        await scan.follow(kb, stop)
    payload = scan.payload()
    assert (payload["results"], payload["total"], payload["complete"]) == (first["results"], first["total"], False)


async def test_too_many_keys_end_the_scan_with_what_it_has(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_MOST_KEYS", 6)
    with _stopping_after(monkeypatch, least=4, most=4):
        scan = await _follow(kb, 10_000, group_by="document")
    assert not scan.is_complete
    assert any("group by something coarser" in warning for warning in scan.all_warnings())


async def test_a_call_that_cannot_begin_raises(kb: KnowledgeBase) -> None:
    with pytest.raises(WinnowError, match="limit: input should be"):
        await _follow(kb, 10_001)


def _run(store: Settings, *arguments: str) -> Any:
    return CliRunner().invoke(command.app, ["--store", str(store.store), "--json", *arguments])


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"WINNOW_DAEMON": "off", "WINNOW_EMBEDDING": "off", "WINNOW_GRAPH": "off"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.own_store
@pytest.mark.usefixtures("alone")
def test_the_command_follows_a_scan_to_its_end_and_reports_how_far_it_is(
    store: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = json.loads(_run(store, r"p\w+").stdout)
    with _stopping_after(monkeypatch, least=6, most=6):
        followed, counted = _run(store, r"p\w+"), _run(store, r"p\w+", "--count")
    assert json.loads(followed.stdout) == whole
    assert followed.exit_code == 0
    assert [line.rpartition(": ")[2] for line in followed.stderr.splitlines()] == [
        f"{done} of {DOCUMENTS} documents" for done in (6, 12, 18)
    ]
    expected = {**whole["total"], "scanned": whole["scanned"], "complete": True, "warnings": []}
    assert json.loads(counted.stdout) == expected


@pytest.fixture
def heeds_ctrl_c() -> Iterator[None]:
    """A run in the background of a shell ignores SIGINT, and with it these tests would."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.own_store
@pytest.mark.usefixtures("alone", "heeds_ctrl_c")
def test_ctrl_c_prints_what_was_found_and_that_it_is_not_complete(
    store: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = json.loads(_run(store, r"p\w+").stdout)

    async def interrupt(progress: object, documents: int, matches: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(30)

    monkeypatch.setattr(run_scan._Progress, "show", interrupt)
    with _stopping_after(monkeypatch, least=6, most=6):
        stopped = _run(store, r"p\w+")
    payload = json.loads(stopped.stdout)
    assert stopped.exit_code == INTERRUPTED
    assert (payload["complete"], payload["partial"], payload["scanned"]["documents"]) == (False, True, 6)
    assert payload["results"] == [row for row in whole["results"] if row["file"] < "06.md"]
    assert any("not complete" in warning for warning in payload["warnings"])
    rest = json.loads(_run(store, r"p\w+", "--cursor", payload["next_cursor"]).stdout)
    assert payload["results"] + rest["results"] == whole["results"]
