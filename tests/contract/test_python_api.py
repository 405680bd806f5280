"""What ``import winnow`` gives a program: an open store, searches, operations and scripts."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import winnow

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
KEPT = "Backups are kept for ninety days.\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder whose default store has a project `handbook` with one page."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "pages").mkdir()
    (folder / "pages" / "backups.md").write_text(f"# Backups\n\n{KEPT}", "utf-8")
    ingest = [Path(sys.executable).with_name("winnow"), "ingest", folder / "pages", "--project", "handbook"]
    subprocess.run(ingest, env=_environment(folder), check=True, capture_output=True)
    return folder


def _environment(home: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "WINNOW_DAEMON": "off", **more}


@pytest.mark.walls
def test_the_example_of_the_page_runs(home: Path) -> None:
    (program,) = re.findall(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, env=_environment(home), capture_output=True, text=True, check=False)
    title, evidence, outcome = done.stdout.splitlines()
    assert (title.split()[0], evidence, outcome, done.stderr) == (
        "Backups",
        rf"answered ['# Backups\n\n{KEPT.strip()}']",
        "ok 1",
        "",
    )


def test_files_with_the_names_of_our_rooms_on_the_search_path_change_nothing(home: Path, tmp_path: Path) -> None:
    for name in ("server", "security", "sandbox", "client_sdk"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n", "utf-8")
    answers = [
        subprocess.run(
            [Path(sys.executable).with_name("winnow"), "search", "backups", "--project", "handbook", "--json"],
            env=_environment(home, **path),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        for path in ({}, {"PYTHONPATH": str(tmp_path)})
    ]
    assert [(each.returncode, each.stderr) for each in answers] == [(0, ""), (0, "")]
    assert [json.loads(each.stdout)["results"][0]["title"] for each in answers] == ["Backups", "Backups"]


def test_a_store_that_is_not_there_is_an_error_of_the_taxonomy(tmp_path: Path) -> None:
    with pytest.raises(winnow.WinnowError) as caught:
        winnow.open_store(tmp_path / "none")
    assert caught.value.reason == "NOT_FOUND"


def test_a_store_is_closed_once(home: Path) -> None:
    store = winnow.open_store(home / ".local/share/winnow", project="handbook", execute_code="off", daemon="off")
    store.close()
    store.close()
    with pytest.raises(winnow.WinnowError, match="this store is closed"):
        store.search("backups")


@pytest.mark.parametrize("top_k", [0, -1, 10**9, "many", [1]])
def test_arguments_out_of_range_are_refused_and_the_store_goes_on(home: Path, top_k: object) -> None:
    folder = home / ".local/share/winnow"
    with winnow.open_store(folder, project="handbook", execute_code="off", daemon="off") as store:
        with pytest.raises(winnow.WinnowError) as caught:
            store.call("semantic_search", {"query": "backups", "top_k": top_k})
        assert caught.value.reason == "INVALID_REQUEST"
        assert store.search("backups")[0]["title"] == "Backups"


def test_what_an_answer_warns_of_is_a_warning_and_a_script_that_is_no_text_is_refused(home: Path) -> None:
    folder = home / ".local/share/winnow"
    with winnow.open_store(folder, project="handbook", execute_code="off", daemon="off") as store:
        with pytest.warns(UserWarning, match="colour"):
            assert store.search("backups", colour="red")[0]["title"] == "Backups"
        with pytest.raises(winnow.WinnowError, match="a script is a text"):
            store.run_script(5)  # type: ignore[arg-type]


async def _search(store: winnow.OpenStore) -> None:
    store.search("backups")


async def _close(store: winnow.OpenStore) -> None:
    store.close()


def test_threads_take_turns_and_the_shortest_rows_are_ids(home: Path) -> None:
    folder = home / ".local/share/winnow"
    with (
        winnow.open_store(folder, project="handbook", execute_code="off", daemon="off") as store,
        ThreadPoolExecutor(4) as threads,
    ):
        found = list(threads.map(lambda _: store.search("backups", mode="ids_only"), range(8)))
        assert found == [[{"id": store.search("backups")[0]["id"]}]] * 8


def test_an_operation_is_called_by_the_name_of_its_tool_too(home: Path) -> None:
    folder = home / ".local/share/winnow"
    asked = {"quotes": [{"quote": "kept for ninety days"}]}
    with winnow.open_store(folder, project="handbook", execute_code="off", daemon="off") as store:
        answers = [store.call(name, asked) for name in ("citations.audit.check", "citations_audit_check")]
        assert answers[0]["results"] == answers[1]["results"] != []
        for name in ("kb_scan", "kb.scan"):
            assert store.call(name, {"pattern": "backups", "literal": True})["complete"]
        with pytest.raises(winnow.WinnowError, match="no operation 'kb_nothing'"):
            store.call("kb_nothing", {})


@pytest.mark.parametrize(
    ("operation", "arguments"), [(["a"], {}), ("kb.count", None), ("kb.count", [1]), ("kb.count", {1: 2})]
)
def test_calls_by_anything_but_names_are_refused(home: Path, operation: Any, arguments: Any) -> None:
    folder = home / ".local/share/winnow"
    with (
        winnow.open_store(folder, project="handbook", execute_code="off", daemon="off") as store,
        pytest.raises(winnow.WinnowError, match="by name"),
    ):
        store.call(operation, arguments)


def test_a_folder_without_an_index_is_named_and_stays_empty(tmp_path: Path) -> None:
    with pytest.raises(winnow.WinnowError) as caught:
        winnow.open_store(tmp_path)
    assert (caught.value.reason, list(tmp_path.iterdir())) == ("NOT_FOUND", [])


def test_within_an_event_loop_a_thread_is_advised(home: Path) -> None:
    folder = home / ".local/share/winnow"
    with winnow.open_store(folder, project="handbook", execute_code="off", daemon="off") as store:
        for use in (_search, _close):
            with pytest.raises(winnow.WinnowError, match="a thread of its own"):
                asyncio.run(use(store))
        assert store.search("backups")[0]["title"] == "Backups"
