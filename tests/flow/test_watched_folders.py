"""Watched folders: whatever happens in them, the index becomes that of a fresh ingest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.watched import (
    add_source,
    fresh_index,
    index_of,
    settings_of,
    status_of,
    wait_for,
    wait_until_fresh,
    watched,
)
from winnow.server.backends.opening import Backends
from winnow.server.commands.health.watching import check_watching
from winnow.server.commands.watching.sources import format_attention
from winnow.server.errors import WinnowError
from winnow.server.jobs.watching.path_watcher import PathWatcher
from winnow.server.jobs.watching.sources import FILE, change_sources, read_sources
from winnow.server.jobs.watching.status import read_status
from winnow.server.jobs.watching.store_watcher import watcher_of
from winnow.server.models import Filters

pytestmark = pytest.mark.as_root


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_pages(tmp_path / "notes", 30)


def write_pages(folder: Path, count: int, text: str = "Words") -> Path:
    for number in range(count):
        path = folder / f"part{number % 5}" / f"{number:04}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Page {number}\n\n{text} of page {number}.\n")
    return folder


def is_watched(store: Path, folder: Path) -> bool:
    status = status_of(store, folder)
    return status is not None and status.state == "events" and status.scanned_at > 0


def test_a_change_is_found_soon_and_the_index_equals_a_fresh_ingest(store: Path, notes: Path) -> None:
    add_source(store, notes)
    with watched(settings_of(store)) as (backends, _):
        wait_for(lambda: is_watched(store, notes))
        assert index_of(backends) == fresh_index(notes)
        (notes / "part0" / "new.md").write_text("# New\n\nA pangolin sleeps.\n")
        wait_for(lambda: backends.catalogue.count_documents(Filters("p"))[0] == 31)
        (notes / "part0" / "new.md").write_text("# New\n\nAn axolotl sleeps.\n")
        (notes / "part1" / "0001.md").unlink()
        wait_until_fresh(backends, notes)


def test_two_thousand_files_that_change_at_once_are_all_indexed(store: Path, tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "many", 2_000)
    add_source(store, folder)
    with watched(settings_of(store)) as (backends, _):
        wait_for(lambda: is_watched(store, folder))
        write_pages(folder, 2_000, "Other words")
        wait_until_fresh(backends, folder)


def test_folders_that_are_made_filled_and_moved_are_followed(store: Path, notes: Path, tmp_path: Path) -> None:
    add_source(store, notes)
    with watched(settings_of(store)) as (backends, _):
        wait_for(lambda: is_watched(store, notes))
        write_pages(notes / "deep" / "deeper", 12)
        wait_for(lambda: backends.catalogue.count_documents(Filters("p"))[0] == 42)
        (notes / "deep").rename(notes / "moved")
        wait_until_fresh(backends, notes)
        (notes / "moved" / "deeper" / "part0" / "late.md").write_text("Words in a folder that was moved.\n")
        write_pages(tmp_path / "elsewhere", 3)
        (tmp_path / "elsewhere").rename(notes / "arrived")
        wait_until_fresh(backends, notes)
        assert backends.catalogue.count_documents(Filters("p"))[0] == 46
        assert status_of(store, notes).held == 0  # type: ignore[union-attr]


def test_files_that_are_not_read_are_named_as_soon_as_they_change_and_until_they_are_read(
    store: Path, notes: Path
) -> None:
    add_source(store, notes)
    broken = notes / "part0" / "broken.txt"

    def failures() -> tuple[int, tuple[str, ...]]:
        status = status_of(store, notes)
        assert status is not None
        return status.unreadable, status.failures

    with watched(settings_of(store)):
        wait_for(lambda: is_watched(store, notes))
        assert failures() == (0, ())
        broken.write_bytes(bytes(2_000))
        unreadable, (named,) = wait_for(lambda: failures()[0] and failures())
        assert (unreadable, named.startswith("part0/broken.txt: ")) == (1, True)
        (notes / "part1" / "0001.md").write_text("Another file changes.\n")
        wait_for(lambda: status_of(store, notes).written == 31)  # type: ignore[union-attr]
        assert failures() == (1, (named,))
        assert f"not read: {named}" in format_attention(status_of(store, notes))  # type: ignore[arg-type]
        broken.write_text("It can be read now.\n")
        wait_for(lambda: failures() == (0, ()))


def test_a_file_that_is_written_slowly_is_read_when_it_is_whole(store: Path, notes: Path) -> None:
    add_source(store, notes)
    written = notes / "slow.md"
    with watched(settings_of(store)) as (backends, _):
        wait_for(lambda: is_watched(store, notes))
        lengths = set()
        with written.open("w") as file:
            for number in range(20):
                file.write(f"Line {number} of a slow writer.\n\n")
                file.flush()
                time.sleep(0.1)  # the writer's pace, not a wait for the watcher
                lengths |= {len(document.content_hash) for document in documents_named(backends, "slow.md")}
        assert lengths == set()
        wait_for(lambda: documents_named(backends, "slow.md"))
        assert index_of(backends) == fresh_index(notes)


def documents_named(backends: object, uri: str) -> list:  # type: ignore[type-arg]
    return [document for document in backends.catalogue.documents("p") if document.uri == uri]  # type: ignore[attr-defined]


def test_a_source_that_goes_away_keeps_its_documents_and_stops_no_other(
    store: Path, notes: Path, tmp_path: Path
) -> None:
    other = write_pages(tmp_path / "other", 3)
    for folder in (notes, other):
        add_source(store, folder, doc_tag=folder.name)
    with watched(settings_of(store)) as (backends, _):
        wait_for(lambda: is_watched(store, notes) and is_watched(store, other))
        assert len(documents_named(backends, "part0/0000.md")) == 1
        notes.rename(tmp_path / "unmounted")
        wait_for(lambda: getattr(status_of(store, notes), "state", "") == "away")
        before = backends.catalogue.count_documents(Filters("p"))[0]
        (other / "news.md").write_text("News while another source is away.\n")
        wait_for(lambda: documents_named(backends, "news.md"))
        assert backends.catalogue.count_documents(Filters("p"))[0] == before + 1
        write_pages(tmp_path / "unmounted", 5, "Changed words")
        (tmp_path / "unmounted").rename(notes)
        wait_for(lambda: is_watched(store, notes))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system")
def test_a_file_system_that_is_unmounted_loses_no_document(store: Path, tmp_path: Path) -> None:
    mount = tmp_path / "disk"
    mount.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "none", mount], capture_output=True)
    if made.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        write_pages(mount, 30)
        add_source(store, mount)
        with watched(settings_of(store, watch_scan_minutes=0.02)) as (backends, _):
            wait_for(lambda: is_watched(store, mount))
            subprocess.run(["umount", "-l", mount], check=True)
            wait_for(lambda: getattr(status_of(store, mount), "held", 0) == 30)
            assert backends.catalogue.count_documents(Filters("p"))[0] == 30
    finally:
        subprocess.run(["umount", "-l", mount], capture_output=True)


def test_many_deletions_wait_until_they_are_confirmed(store: Path, tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "docs", 60)
    source = add_source(store, folder)
    with watched(settings_of(store)) as (backends, _):
        wait_for(lambda: is_watched(store, folder))
        for name in ("part0", "part1", "part2"):
            shutil.rmtree(folder / name)
        wait_for(lambda: getattr(status_of(store, folder), "held", 0) > 0)
        (folder / "part3" / "new.md").write_text("A document that came meanwhile.\n")
        wait_for(lambda: documents_named(backends, "part3/new.md"))
        held = wait_for(lambda: getattr(status_of(store, folder), "held", 0))
        watcher, docs = check_watching(settings_of(store))
        assert (watcher.ok, docs.ok, docs.advice) == (
            True,
            False,
            "to delete them: winnow sources confirm docs",
        )
        assert backends.catalogue.count_documents(Filters("p"))[0] == 25 + held
        add_source(store, folder, confirmed=held, confirmed_at=time.time())
        wait_until_fresh(backends, folder)
        wait_for(lambda: getattr(status_of(store, folder), "held", 1) == 0)
    assert source.confirmed == 0


def test_labels_patterns_and_ignore_files_of_a_source_count(store: Path, notes: Path) -> None:
    (notes / "part0" / ".gitignore").write_text("0005.md\n")
    (notes / "part1" / "data.txt").write_text("A text beside the pages.\n")
    source = add_source(store, notes, doc_tag="wiki", include=("*.md",), exclude=("part4/",))
    with watched(settings_of(store)) as (backends, _):
        wait_for(lambda: is_watched(store, notes))
        assert index_of(backends) == fresh_index(notes, source)
        assert {document.doc_tag for document in backends.catalogue.documents("p")} == {"wiki"}
        (notes / "part0" / ".gitignore").write_text("0005.md\n0010.md\n")
        (notes / "part1" / "0001.md").write_text("Other words.\n")
        (notes / "part1" / "data.txt").write_text("Other words beside the pages.\n")
        (notes / "part4" / "0004.md").write_text("Other words that are excluded.\n")
        wait_until_fresh(backends, notes, source)


def test_sources_of_two_projects_write_into_their_own_alone(store: Path, tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("first", "second")}
    for name, folder in folders.items():
        folder.mkdir()
        (folder / "page.md").write_text(f"Words of the {name} project.\n")
        add_source(store, folder, project=name)

    def held(backends: Backends) -> dict[str, list[tuple[str, str]]]:
        documents = {name: backends.catalogue.documents(name) for name in folders}
        return {name: sorted((one.source, one.uri) for one in found) for name, found in documents.items()}

    with watched(settings_of(store)) as (backends, _):
        wait_for(lambda: all(is_watched(store, folder) for folder in folders.values()))
        expected = {name: [(str(folder), "page.md")] for name, folder in folders.items()}
        assert held(backends) == expected
        (folders["first"] / "new.md").write_text("More words.\n")
        (folders["first"] / "page.md").unlink()
        wait_for(lambda: held(backends)["first"] == [(str(folders["first"]), "new.md")])
        assert held(backends)["second"] == expected["second"]


def test_sources_can_be_added_and_removed_while_a_store_is_watched(
    store: Path, notes: Path, tmp_path: Path
) -> None:
    with watched(settings_of(store)) as (backends, _):
        single = tmp_path / "single.md"
        single.write_text("One file alone.\n")
        add_source(store, notes, single)
        wait_for(lambda: is_watched(store, notes) and is_watched(store, single))
        single.write_text("One file alone that changed.\n")
        wait_for(lambda: status_of(store, single).written == 2)  # type: ignore[union-attr]
        change_sources(store, lambda before: [])
        wait_for(lambda: read_status(store).paths == ())
        assert read_sources(store) == ()
        assert backends.catalogue.count_documents(Filters("p"))[0] == 31


def test_a_second_watcher_of_a_store_is_refused(store: Path, notes: Path) -> None:
    add_source(store, notes)
    with watched(settings_of(store)) as (backends, _), pytest.raises(WinnowError, match="is watched by process"):
        watcher_of(settings_of(store), lambda: backends).start()
    assert read_status(store).holder is None


def test_an_ingest_that_a_user_waits_for_goes_first(store: Path, tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "many", 1_500)
    add_source(store, folder)
    with watched(settings_of(store)) as (backends, watcher):
        wait_for(lambda: backends.catalogue.count_documents(Filters("p"))[0] > 0)
        with watcher.give_way():
            assert backends.catalogue.count_documents(Filters("p"))[0] < 1_500
            with backends.catalogue.only_writer():
                pass
        wait_until_fresh(backends, folder)


def test_a_folder_that_becomes_a_link_is_away(store: Path, notes: Path, tmp_path: Path) -> None:
    add_source(store, notes)
    other = write_pages(tmp_path / "private", 2, "Secret words")
    with watched(settings_of(store)) as (backends, _):
        wait_for(lambda: is_watched(store, notes))
        before = index_of(backends)
        notes.rename(tmp_path / "was")
        notes.symlink_to(other)
        status = wait_for(lambda: (s := status_of(store, notes)) and s.state == "away" and "link" in s.why and s)
        assert (status.held, index_of(backends)) == (0, before)


def test_stores_links_pipes_and_odd_names_in_a_watched_folder_do_no_harm(tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "all", 5)
    store = folder / "index"
    add_source(store, folder)
    with watched(settings_of(store)) as (backends, _):
        wait_for(lambda: is_watched(store, folder))
        page = folder / "part0" / "0000.md"
        page.unlink()
        os.mkfifo(page)
        (folder / "part1" / "link.md").symlink_to("/etc/passwd")
        (folder / "part2" / "two\nlines\x1b[31m.md").write_text("An odd name.\n")
        (folder / os.fsdecode(b"caf\xe9.md")).write_text("A name of bytes.\n")
        wait_for(lambda: len(documents_named(backends, "part2/two\\x0alines\\x1b[31m.md")) == 1)
        wait_for(lambda: len(documents_named(backends, "caf\\xe9.md")) == 1)
        uris = [document.uri for document in backends.catalogue.documents("p")]
        assert not [uri for uri in uris if uri.startswith(("index/", "part1/link"))]
        assert "\n" not in "".join(uris)


LIMITED = """
import os, sys
from pathlib import Path
Path("/proc/sys/user", sys.argv[1]).write_text(sys.argv[2])
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", sys.argv[4], sys.argv[3]]))
"""


@pytest.mark.parametrize(("limit", "value"), [("max_inotify_watches", "3"), ("max_inotify_instances", "0")])
def test_at_the_kernels_limit_a_folder_is_polled(limit: str, value: str) -> None:
    """Runs the next test in a user namespace, in which the limit is low."""
    root = Path(__file__).parents[2]
    test = f"{__file__}::test_what_is_polled_is_found_too"
    command = ["unshare", "-U", "-r", sys.executable, "-c", LIMITED, limit, value, test, root]
    ran = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "EXPECTED": "polling"}, cwd=root
    )
    if "unshare failed" in ran.stderr or "Read-only file system" in ran.stderr:
        pytest.skip("no user namespaces here")
    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr


def test_what_is_polled_is_found_too(store: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.environ.get("EXPECTED"):
        monkeypatch.setattr("winnow.server.jobs.watching.path_watcher.remote_type", lambda path: "nfs4")
    add_source(store, notes)
    with watched(settings_of(store, watch_poll_seconds=0.2)) as (backends, _):
        status = wait_for(lambda: (s := status_of(store, notes)) and s.scanned_at and s)
        assert (status.state, bool(status.why)) == ("polling", True)
        _, path = check_watching(settings_of(store))
        is_limited = "EXPECTED" in os.environ
        assert (path.ok, "sysctl" in path.advice) == (not is_limited, is_limited)
        (notes / "part0" / "new.md").write_text("Words that are found by polling.\n")
        (notes / "part1" / "0001.md").unlink()
        wait_until_fresh(backends, notes)


def test_lost_events_are_made_up_for_by_the_next_scan(
    store: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.server.jobs.watching.path_watcher.changed_parts", lambda root, changes: [])
    add_source(store, notes)
    with watched(settings_of(store, watch_scan_minutes=0.02)) as (backends, _):
        wait_for(lambda: is_watched(store, notes))
        (notes / "part0" / "new.md").write_text("Words that no event announces.\n")
        wait_until_fresh(backends, notes)


def test_a_failure_is_named_and_tried_again(store: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.server.jobs.watching.source_watcher._RETRY_SECONDS", 0.1)
    failed = threading.Event()
    scan = PathWatcher._scan

    def fail_once(self: PathWatcher) -> None:
        if not failed.is_set():
            failed.set()
            raise OSError(5, "Input/output error")
        scan(self)

    monkeypatch.setattr(PathWatcher, "_scan", fail_once)
    add_source(store, notes)
    with watched(settings_of(store)) as (backends, _):
        wait_for(lambda: is_watched(store, notes))
        assert index_of(backends) == fresh_index(notes)


@pytest.mark.parametrize("change", ["others", "link", "text", "field"])
def test_a_sources_file_that_winnow_did_not_write_is_refused(store: Path, notes: Path, change: str) -> None:
    add_source(store, notes)
    path = store / FILE
    match change:
        case "others":
            path.chmod(0o666)
        case "link":
            path.rename(store / "elsewhere.json")
            path.symlink_to(store / "elsewhere.json")
        case "text":
            path.write_text("{")
        case "field":
            path.write_text(path.read_text().replace('"paths"', '"command": "ls", "paths"'))
    with pytest.raises(WinnowError, match=r"sources\.json is not used"):
        read_sources(store)
