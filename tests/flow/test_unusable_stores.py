"""Stores that cannot be used: every tool and command names the path that is wrong and what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flow.test_engine import winnow
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application
from winnow.server.commands.entry.knowledge import open_knowledge
from winnow.server.commands.health import examine
from winnow.server.engine import endpoint
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.lock import ENGINE, HOLDER, STARTER, WRITER, StoreLock
from winnow.server.storage.files.store_folder import FILES, folder_error, prepare_store, require_index
from winnow.server.tools.table import TOOLS
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.wire import call_tool

pytestmark = [pytest.mark.anyio, pytest.mark.both_users]

IS_ROOT = os.geteuid() == 0
ROOT_MAY = "root may read and write everything"
LOCKS = (HOLDER, WRITER, ENGINE, STARTER)
ASKED = {"query": "how are backups encrypted"}
ADVICE = "or choose another folder: --store DIR, or WINNOW_STORE"


def nowhere(folder: Path) -> tuple[Path, Path]:
    return Path("/proc/nope"), Path("/proc/nope")


def file(folder: Path) -> tuple[Path, Path]:
    (folder / "file").touch()
    return folder / "file", folder / "file"


def below_a_file(folder: Path) -> tuple[Path, Path]:
    (folder / "file").touch()
    return folder / "file" / "store", folder / "file"


def folder_for_a_file(folder: Path) -> tuple[Path, Path]:
    (folder / "catalogue.sqlite3").mkdir()
    return folder, folder / "catalogue.sqlite3"


def file_for_a_folder(folder: Path) -> tuple[Path, Path]:
    (folder / "vectors").touch()
    return folder, folder / "vectors"


def inaccessible_folder(folder: Path) -> tuple[Path, Path]:
    (folder / "closed").mkdir(mode=0)
    return folder / "closed", folder / "closed"


def read_only(folder: Path) -> tuple[Path, Path]:
    (folder / "catalogue.sqlite3").touch(mode=0o400)
    return folder, folder / "catalogue.sqlite3"


BY_MODE = [
    pytest.param(trouble, marks=pytest.mark.skipif(IS_ROOT, reason=ROOT_MAY))
    for trouble in (inaccessible_folder, read_only)
]


@pytest.fixture(params=[nowhere, file, below_a_file, folder_for_a_file, file_for_a_folder, *BY_MODE])
def trouble(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """A store that cannot be used, and the path that is wrong."""
    found: tuple[Path, Path] = request.param(tmp_path)
    return found


def settings_of(store: Path, **others: Any) -> Settings:
    return load_settings(store=store, **{"project": "p", "embedding": "off", "graph": "off", **others})


def names_path(message: str, path: Path) -> bool:
    return f": {path} " in message and ADVICE in message


@pytest.mark.parametrize(
    "daemon",
    ["off", pytest.param("on", marks=pytest.mark.skipif(not endpoint.is_supported(), reason="no engines"))],
)
async def test_every_tool_says_which_path_stands_in_the_way(trouble: tuple[Path, Path], daemon: str) -> None:
    store, path = trouble
    settings = settings_of(store, daemon=daemon, audit="off", legacy_tools=True)
    application = Application(settings, open_knowledge(settings, wait_for_model=False, starts_engine=True))
    dispatcher = Dispatcher(application.context, settings)
    try:
        for tool in TOOLS:
            if tool.name in ("execute_code", "help", "read_result", "list_projects"):
                continue
            answer = await call_tool(dispatcher, tool, _arguments(tool.name), "x", _silent)
            assert answer.structured_content is not None
            error = answer.structured_content["error"]
            told = error["details"]["reason"], names_path(error["message"], path)
            assert (tool.name, *told) == (tool.name, "INDEX_UNAVAILABLE", True), error
    finally:
        await application.kb.aclose()


def _arguments(tool: str) -> dict[str, Any]:
    ids, sections = {"ids": ["backups"]}, {"section_ids": ["0123456789ab"]}
    of: dict[str, dict[str, Any]] = {
        "kb.retrieve_evidence": {"question": ASKED["query"]},
        "kb.extract_evidence": {"question": ASKED["query"], "passage_ids": ["p_1"]},
        "kb.read_excerpt": {"passage_id": "p_1"},
        "kb.expand_excerpt": {"passage_id": "p_1"},
        "kb.scan": {"pattern": "backups"},
        "kb.documents": {},
        "kb.read": {"document": "backups.md"},
        "get_section_text": sections,
        "graph.describe": ids,
        "graph.expand": ids,
        "graph.paths": {"from_ids": ["backups"], "to_ids": ["billing"]},
        "graph.parents": ids,
        "graph.children": ids,
        "graph.entities_for_sections": sections,
        "graph.sections_for_entities": {"entity_ids": ["backups"]},
        "find_vendor_info": {"vendor_name": "acme"},
        "query": {"project": "p", "text": ASKED["query"]},
        "query_hybrid": {"project": "p", "text": ASKED["query"]},
        "inspect_collection": {"project": "p"},
        "planner.multi_perspective": {"question": ASKED["query"]},
        "research.execute": {"question": ASKED["query"]},
        "docs.load.fetch": {"uri": "backups.md"},
        "citations.audit.check": {"text": '"backups are kept for years"'},
        "exports.render.markdown": {"title": "T", "sections": [{"heading": "H"}]},
        "ingest_from_source": {"project": "p", "source": "notes"},
        "wild_claims": {"entry_ids": ["0" * 12]},
        **{name: {"entry_id": "0" * 12} for name in ("wild_related", "wild_read", "wild_revise")},
        **{name: {} for name in ("wild_topics", "wild_friction", "wild_recent", "wild_status")},
        "wild_write": {"topic": "t", "claims": [{"text": "It is so."}]},
        "job_status": {"job_id": "job_of_nobody"},
        "job_cancel": {"job_id": "job_of_nobody"},
    }
    return of.get(tool, ASKED)


async def _silent(seconds: float, message: str) -> None:
    """Progress that is not asked for."""


@pytest.mark.walls
async def test_a_script_that_needs_no_store_runs(tmp_path: Path) -> None:
    settings = settings_of(file(tmp_path)[0], daemon="on")
    application = Application(settings, open_knowledge(settings, wait_for_model=False, starts_engine=True))
    try:
        await application.ready()
        assert (await application.scripts.run("return 1")).result == 1
        outcome = await application.scripts.run("return len(kb.search('backups'))")
        assert outcome.error is not None
        assert names_path(outcome.error.message, tmp_path / "file")
    finally:
        await application.close()


@pytest.mark.parametrize(
    "command",
    [
        ("search", "backups"),
        ("search", "backups", "--explain"),
        ("ingest", Path(__file__).parent),
        ("stats",),
        ("graph", "stats"),
        ("reindex",),
        ("migrate", "--to", "elsewhere"),
    ],
)
async def test_every_command_says_which_path_stands_in_the_way(
    trouble: tuple[Path, Path], command: tuple[object, ...]
) -> None:
    store, path = trouble
    ended = await winnow(str(command[0]), *command[1:], "--store", store)
    assert ended.exit_code in (2, 4), ended.output
    # Where no index can exist, commands that only read say that there is none.
    assert names_path(ended.stderr, path) or f"there is no index in {store}; " in ended.stderr


@pytest.mark.parametrize("command", [("audit",), ("engine", "status")])
async def test_commands_that_have_something_to_say_without_a_store_do_not_fail_by_it(
    trouble: tuple[Path, Path], command: tuple[str, ...]
) -> None:
    store, path = trouble
    ended = await winnow(*command, "--store", store)
    assert ended.exit_code == 0 or names_path(ended.stderr, path)


def test_the_doctor_says_which_path_stands_in_the_way_and_leaves_all_as_it_is(
    trouble: tuple[Path, Path], tmp_path: Path
) -> None:
    store, path = trouble
    before = sorted(tmp_path.rglob("*"))
    # Its files are looked at after it, and may be named as well.
    found, *_ = [one for one in examine(settings_of(store, execute_code="off")) if one.group == "store"]
    assert (found.check, found.ok, found.essential) == ("folder", False, True)
    assert names_path(f"{found.detail}; {found.advice}", path)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "command", [("search", "x"), ("stats",), ("graph", "stats"), ("reindex",), ("engine", "status")]
)
async def test_a_mistyped_path_is_not_made_by_what_only_reads(tmp_path: Path, command: tuple[str, ...]) -> None:
    await winnow(*command, "--store", tmp_path / "mistyped")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    "command",
    [
        ("exec", "script.py"),
        ("serve",),
        ("search", "x"),
        ("stats",),
        ("backups.backup", "file.backup"),
        ("claims.notebooks", "adopt"),
        ("claims.notebooks", "check"),
        ("graph", "stats"),
        ("jobs", "list"),
        ("jobs", "show", "job_1f0c"),
        ("projects.project", "list"),
        ("reindex",),
        ("serving.cache", "clear"),
        ("serving.keys", "add", "ann"),
        ("serving.keys", "list"),
        ("watching.sources", "list"),
        ("watching.sources", "confirm", "docs"),
    ],
)
async def test_a_mistyped_path_is_an_error_that_names_the_stores_that_there_are(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Only what puts something into a store makes one."""
    open_backends(settings_of(tmp_path / "right"), wait_for_model=False).close()
    (tmp_path / "script.py").write_text("1", "utf-8")
    words = [str(tmp_path / word) if word.endswith(".py") else word for word in command]
    done = await winnow(*words, "--store", tmp_path / "wrong")
    assert (done.exit_code != 0, str(tmp_path / "right") in done.output) == (True, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["right", "script.py"]


async def test_an_import_without_a_file_makes_no_store(tmp_path: Path) -> None:
    done = await winnow("claims.notebooks", "import", tmp_path / "none.jsonl", "--store", tmp_path / "wrong")
    assert (done.exit_code, "none.jsonl cannot be read" in done.output) == (2, True)
    assert [*tmp_path.iterdir()] == []


@pytest.fixture
def complete_store(tmp_path: Path) -> Iterator[Path]:
    """A store with all of its files."""
    store = tmp_path / "store"
    before = os.umask(0o022)
    open_backends(settings_of(store, graph="auto"), wait_for_model=False).close()
    for kind in LOCKS:
        StoreLock(store, kind).release()
    os.umask(before)
    return store


def test_each_part_of_a_store_is_looked_at(complete_store: Path) -> None:
    parts = {path.name for path in complete_store.iterdir() if path.is_file() and path.suffix not in (".json",)}
    assert parts - {f"{name}{more}" for name in FILES for more in ("-wal", "-shm")} >= {FILES[0], *LOCKS}
    for name in parts:
        (complete_store / name).unlink()
        (complete_store / name).mkdir()
        with pytest.raises(WinnowError, match=f"{name} is a folder where a file is wanted"):
            prepare_store(complete_store)
        (complete_store / name).rmdir()


def test_a_store_that_is_made_is_closed_to_others_whatever_the_umask(complete_store: Path) -> None:
    assert oct(complete_store.stat().st_mode & 0o777) == "0o700"


def test_a_reading_command_wants_an_index_and_makes_none(tmp_path: Path, complete_store: Path) -> None:
    require_index(complete_store)
    with pytest.raises(WinnowError, match=r"there is no index in .*nothing; .*store; make one with") as caught:
        require_index(tmp_path / "nothing")
    assert (caught.value.reason, (tmp_path / "nothing").exists()) == ("NOT_FOUND", False)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EACCES, "may not be read and written by this user; give it"),
        (errno.EROFS, "is on a read-only disk; mount it"),
        (errno.ENOSPC, "MB are free); free some space there"),
        (errno.EIO, "cannot be read or written: its disk fails"),
        (errno.ESTALE, "make it usable"),
    ],
)
def test_what_the_system_says_becomes_a_path_and_an_advice(tmp_path: Path, number: int, said: str) -> None:
    error = folder_error(tmp_path, OSError(number, os.strerror(number), str(tmp_path / "holder")))
    assert error.reason == "INDEX_UNAVAILABLE"
    assert f"the store {tmp_path} cannot be used: {tmp_path}/holder " in error.message
    assert said in error.message
    assert str(tmp_path) in folder_error(tmp_path, OSError("without a number")).message
