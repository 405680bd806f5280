"""``winnow watch``, ``winnow sources`` and ``winnow serve --watch``, with and without an engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.flow.test_stdio import Pipe
from tests.flow.test_watched_folders import write_pages
from tests.patience import LIMIT
from tests.watched import Index, fresh_index, index_of, settings_of, status_of, wait_for
from winnow.server.backends.opening import open_backends
from winnow.server.commands.watching import sources as sources_command
from winnow.server.commands.watching import watch as watch_command
from winnow.server.commands.watching.sources import format_attention, format_status
from winnow.server.engine import endpoint
from winnow.server.jobs.watching.sources import read_sources
from winnow.server.jobs.watching.status import PathStatus, read_status
from winnow.server.storage.files.lock import ENGINE, find_holder

pytestmark = pytest.mark.as_root

WINNOW = Path(sys.executable).with_name("winnow")
shared = pytest.mark.skipif(not endpoint.is_supported(), reason="engines are not shared on this system")
DAEMONS = [pytest.param("on", marks=shared), "off"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    """A store that is not there yet; its engine is ended at the end."""
    folder = tmp_path / "store"
    yield folder
    while (holder := find_holder(folder, ENGINE)) is not None:
        with suppress(ProcessLookupError):
            os.kill(holder.pid, signal.SIGKILL)
        wait_for(lambda former=holder: find_holder(folder, ENGINE) != former)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_pages(tmp_path / "notes", 20)


def environment(daemon: str) -> dict[str, str]:
    # Without the variable that has Python write each line at once: few users have it set.
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        "WINNOW_DAEMON": daemon,
        "WINNOW_EMBEDDING": "off",
        "WINNOW_GRAPH": "off",
        "WINNOW_PROJECT": "p",
        "WINNOW_ENGINE_IDLE_MINUTES": "0.01",
    }


@contextmanager
def running(store: Path, *arguments: object, daemon: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [WINNOW, *map(str, arguments), "--store", store],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(daemon),
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def sources(store: Path, *arguments: object) -> Result:
    command = [*map(str, arguments), "--store", str(store)]
    return CliRunner().invoke(sources_command.app, command, env=environment("off"))


def is_watched(store: Path, folder: Path) -> bool:
    status = status_of(store, folder)
    return read_status(store).holder is not None and status is not None and status.state == "events"


def final_index(store: Path) -> Index:
    """The index once no process holds it."""
    wait_for(lambda: find_holder(store) is None and find_holder(store, ENGINE) is None)
    backends = open_backends(settings_of(store), wait_for_model=False, repairs_vectors=True)
    try:
        return index_of(backends)
    finally:
        backends.close()


@pytest.mark.parametrize("daemon", DAEMONS)
def test_watch_keeps_the_index_up_to_date_until_ctrl_c(store: Path, notes: Path, daemon: str) -> None:
    with running(store, "watch", notes, daemon=daemon) as process:
        wait_for(lambda: is_watched(store, notes))
        (notes / "part0" / "new.md").write_text("# New\n\nA pangolin sleeps.\n")
        wait_for(lambda: status_of(store, notes).written == 21)  # type: ignore[union-attr]
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=LIMIT)
    assert (process.returncode, errors) == (0, f"added source notes: {notes}\n")
    assert f"notes: {notes}: watched" in output
    wait_for(lambda: read_status(store).holder is None)
    assert final_index(store) == fresh_index(notes)


@pytest.mark.parametrize("daemon", DAEMONS)
def test_a_server_watches_and_its_client_finds_what_is_new(store: Path, notes: Path, daemon: str) -> None:
    assert sources(store, "add", notes).exit_code == 0
    with running(store, "serve", "--watch", "--no-execute-code", daemon=daemon) as process:
        pipe = Pipe(process)
        pipe.shake_hands()
        wait_for(lambda: is_watched(store, notes))
        (notes / "part0" / "new.md").write_text("# New\n\nA pangolin sleeps.\n")
        wait_for(lambda: status_of(store, notes).written == 21)  # type: ignore[union-attr]
        assert [row["title"] for row in pipe.call(2, "kb_search", query="pangolin", top_k=1)["results"]] == ["New"]
        assert pipe.close() == 0
    assert final_index(store) == fresh_index(notes)


@pytest.mark.parametrize("daemon", DAEMONS)
def test_a_watcher_that_is_killed_in_the_middle_leaves_an_index_that_the_next_one_completes(
    store: Path, tmp_path: Path, daemon: str
) -> None:
    folder = write_pages(tmp_path / "many", 700)
    assert sources(store, "add", folder).exit_code == 0
    with running(store, "watch", daemon=daemon) as process:
        wait_for(lambda: (s := status_of(store, folder)) and s.indexing)
        victim = find_holder(store)
        assert victim is not None
        os.kill(victim.pid, signal.SIGKILL)
        if daemon == "on":  # the client has the next engine watch
            wait_for(
                lambda: (s := status_of(store, folder)) and s.state == "events" and not s.indexing and s.scanned_at
            )
        else:
            process.wait(LIMIT)
    if daemon == "off":
        with running(store, "watch", "--once", daemon=daemon) as process:
            assert process.wait(LIMIT) == 0
    assert final_index(store) == fresh_index(folder)


@shared
def test_watching_ends_with_the_last_client_that_asked_for_it(store: Path, notes: Path) -> None:
    with running(store, "watch", notes, daemon="on") as first:
        wait_for(lambda: is_watched(store, notes))
        with running(store, "watch", daemon="on") as second:
            assert second.stdout is not None
            assert "watched" in second.stdout.readline()
            first.send_signal(signal.SIGTERM)
            assert first.wait(LIMIT) == 0
            (notes / "part0" / "new.md").write_text("Words while one of two is left.\n")
            wait_for(lambda: status_of(store, notes).written == 21)  # type: ignore[union-attr]
            subprocess.run([WINNOW, "engine", "stop", "--store", store], check=True, env=environment("on"))
            _, errors = second.communicate(timeout=LIMIT)
    assert (second.returncode, "the engine has left" in errors) == (4, True)
    assert read_status(store).holder is None


@shared
def test_an_ingest_beside_a_watcher_is_answered(store: Path, notes: Path, tmp_path: Path) -> None:
    other = write_pages(tmp_path / "other", 4)
    for path in other.rglob("*.md"):
        path.rename(path.with_stem(f"other-{path.stem}"))
    with running(store, "watch", notes, daemon="on"):
        wait_for(lambda: read_status(store).holder)
        command = [WINNOW, "ingest", other, "--store", store, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment("on"))
        assert (done.returncode, json.loads(done.stdout)["documents"]) == (0, 4)


def test_sources_are_added_listed_confirmed_and_removed(store: Path, notes: Path, tmp_path: Path) -> None:
    write_pages(tmp_path / "Other Notes", 1)
    labels = ["--doc-tag", "wiki", "--environment", "prod", "--force-labels"]
    assert sources(store, "add", notes, *labels, "--include", "*.md", "--exclude", "d/").exit_code == 0
    assert sources(store, "add", tmp_path / "Other Notes", "--json").exit_code == 0
    shown = json.loads(sources(store, "list", "--json").stdout)
    assert [
        (one["id"], one["doc_tag"], one["forced"], one["include"], one["status"]) for one in shown["sources"]
    ] == [
        ("notes", "wiki", True, ["*.md"], []),
        ("other-notes", "", False, [], []),
    ]
    assert shown["watched_by"] is None
    assert "notes: project p, doc_tag wiki (forced), environment prod" in sources(store, "list").stdout
    assert "no deletions of notes are held back" in sources(store, "confirm", "notes").stderr
    assert sources(store, "remove", tmp_path / "Other Notes").exit_code == 0
    assert [one.id for one in read_sources(store)] == ["notes"]
    assert "the sources are: notes" in sources(store, "remove", "other-notes").stderr


def test_a_source_is_named_without_doubt(store: Path, notes: Path) -> None:
    added = sources(store, "add", notes, "--id", "mine", "--project", "one")
    assert (added.exit_code, "project 'one' does not exist yet" in added.stderr) == (0, True)
    taken = sources(store, "add", notes, "--id", "mine", "--project", "two")
    assert (taken.exit_code, "there is a source 'mine' already" in taken.stderr) == (2, True)
    assert sources(store, "add", notes, "--project", "two").exit_code == 0
    doubtful = sources(store, "remove", notes)
    assert (doubtful.exit_code, "mine (project one), notes (project two)" in doubtful.stderr) == (2, True)
    assert sources(store, "remove", "mine").exit_code == 0
    assert [one.id for one in read_sources(store)] == ["notes"]


def test_deletions_that_are_confirmed_while_nothing_watches_are_made_by_the_next_watcher(
    store: Path, tmp_path: Path
) -> None:
    folder = write_pages(tmp_path / "docs", 40)

    def watch_once() -> dict[str, Any]:
        command = [WINNOW, "watch", "--once", "--json", "--store", store]
        done = subprocess.run(command, capture_output=True, text=True, env=environment("off"))
        return dict(json.loads(done.stdout.splitlines()[-1]))

    assert sources(store, "add", folder).exit_code == 0
    assert watch_once()["written"] == 40
    for path in sorted(folder.rglob("*.md"))[:30]:
        path.unlink()
    assert (watch_once()["held"], watch_once()["deleted"]) == (30, 0)
    confirmed = json.loads(sources(store, "confirm", "docs", "--json").stdout)
    assert (confirmed["documents"], confirmed["done"]) == (30, False)
    assert (last := watch_once())["deleted"] == 30
    assert (last["held"], final_index(store)) == (0, fresh_index(folder))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["{notes}/part0"], "overlaps with"),
        (["{notes}"], "to change that source: winnow sources remove"),
        (["{store}"], "which is never watched"),
        (["{notes}/../elsewhere"], "does not exist"),
        (["https://example.org/"], "wget --mirror"),
        (["{other}", "--include", "!"], "is not a pattern"),
        (["{other}", "--id", "../x"], "id"),
        (["{other}", "--force-labels"], "--force-labels needs"),
    ],
)
def test_sources_that_cannot_be_watched_are_refused(
    store: Path, notes: Path, tmp_path: Path, arguments: list[str], reason: str
) -> None:
    assert sources(store, "add", notes).exit_code == 0
    places = {"notes": notes, "store": store, "other": write_pages(tmp_path / "other", 1)}
    done = sources(store, "add", *(text.format(**places) for text in arguments))
    assert (done.exit_code, reason in done.stderr) == (2, True), done.stderr
    assert [one.id for one in read_sources(store)] == ["notes"]


def test_watch_answers_an_address_with_the_way_to_fetch_it(store: Path) -> None:
    done = CliRunner().invoke(watch_command.app, ["https://example.org/docs/guide", "--store", str(store)])
    assert done.exit_code == 2
    assert "winnow reads files, no web pages" in done.stderr
    assert "--directory-prefix=site https://example.org/docs/guide/ and then" in done.stderr


def test_the_status_of_a_path_says_when_documents_were_last_written() -> None:
    row = PathStatus("docs", "/docs", "p", "events", files=1, scanned_at=90_000.0, changed_at=86_400.0, written=1)
    shown = format_status(row).split("; ")
    assert [part.partition(" at ")[0] for part in shown] == [
        "watched", "1 file when scanned", "1 document written, 0 deleted, last"]  # fmt: skip
    assert "1 document written, 2 moved, 0 deleted" in format_status(replace(row, moved=2))


def test_the_command_that_names_all_files_that_are_not_read_names_their_project() -> None:
    row = PathStatus("docs", "/docs", "p", "events", unreadable=3, failures=("a.pdf: empty",))
    assert list(format_attention(row)) == [
        "not read: a.pdf: empty", "... and 2 more; winnow ingest /docs --project p names all"]  # fmt: skip


def test_watch_without_sources_says_how_to_add_one(store: Path) -> None:
    done = subprocess.run(
        [WINNOW, "watch", "--store", store], capture_output=True, text=True, env=environment("off")
    )
    assert (done.returncode, f"winnow watch --store {store} PATH" in done.stderr) == (2, True)
