"""Children that read files are kept for the next ingest: when they are, and when they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.patience import LIMIT, family
from tests.watched import add_source, settings_of, wait_for, watched
from winnow.server.ingest.children import reader_pool, walled_children
from winnow.server.ingest.children.parser import ParserProcess
from winnow.server.ingest.children.reader_pool import ReaderPool, StartedChildren
from winnow.server.ingest.children.walled_children import WalledChildren
from winnow.server.readers.documents import RawDocument, UnreadableFile
from winnow.server.readers.formats.format_table import Format
from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.readers.tasks.table import Task

pytestmark = [pytest.mark.walls, pytest.mark.as_root]

_PROGRAM = "tests.walls.reader_program"
_KEEPER = f"""
import os, sys
from winnow.server.ingest.children import walled_children
from winnow.server.ingest.children.parser import ParserProcess
from winnow.server.ingest.children.reader_pool import ReaderPool
walled_children.MODULE = {_PROGRAM!r}
pool = ReaderPool()
with ParserProcess(pool=pool) as readers:
    list(readers.parse("html", "<p>Words.", "a.html"))
print(readers._walled, pool._kept.children._children._process.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children run the readers of reader_program.py."""
    monkeypatch.setattr(walled_children, "MODULE", _PROGRAM)


@pytest.fixture
def pool() -> Iterator[ReaderPool]:
    pool = ReaderPool()
    yield pool
    pool.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "book.file"
    path.write_text("The text of the file.\n")
    return path


def _ingest(
    pool: ReaderPool, path: Path, options: ReadOptions | None = None, name: str = "whole"
) -> tuple[int, str]:
    """Read one file as an ingest of its own; returns the fork server's process, and the text."""
    with ParserProcess(options or ReadOptions(), pool=pool) as readers:
        return _read(readers, path, name)


def _read(readers: ParserProcess, path: Path, name: str = "whole") -> tuple[int, str]:
    (document,) = readers.read(path, path.name, Format("book", (name,)))
    assert isinstance(document, RawDocument)
    assert readers._walled is not None
    assert isinstance(readers._walled.children, WalledChildren)
    return readers._walled.children._children._process.pid, document.text


def _is_gone(pid: int) -> bool:
    """Whether a process has ended, within a while."""
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def _descendants(pid: int) -> list[int]:
    below = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*below, *(deeper for one in below for deeper in _descendants(one))]


def test_the_next_ingest_takes_the_same_fork_server_and_a_new_child(pool: ReaderPool, path: Path) -> None:
    ingests = [_ingest(pool, path, name="count") for _ in range(3)]
    assert ingests == [(ingests[0][0], "1")] * 3


def test_an_ingest_with_other_options_ends_it_and_starts_its_own(pool: ReaderPool, path: Path) -> None:
    first, _ = _ingest(pool, path)
    second, text = _ingest(pool, path, ReadOptions(keeps_hidden=True), "options")
    assert text == "True () False"
    assert second != first
    assert _is_gone(first)


def test_what_an_ingest_with_passwords_used_is_not_kept(pool: ReaderPool, path: Path) -> None:
    process, text = _ingest(pool, path, ReadOptions(passwords=("secret",)), "options")
    assert text == "False ('secret',) False"
    assert _is_gone(process)


def test_an_idle_fork_server_ends_after_a_while_and_not_before(path: Path) -> None:
    pool = ReaderPool(idle_seconds=1.0)
    began = time.monotonic()
    first, _ = _ingest(pool, path)
    assert _is_gone(first)
    assert time.monotonic() - began >= 1.0
    second, text = _ingest(pool, path)
    assert (second != first, text) == (True, "The text of the file.\n")
    pool.close()
    assert _is_gone(second)


def test_a_fork_server_that_is_in_use_is_not_idle(path: Path) -> None:
    pool = ReaderPool(idle_seconds=0.2)
    with ParserProcess(pool=pool) as readers:
        first, _ = _read(readers, path)
        time.sleep(0.5)
        assert _read(readers, path)[0] == first
    assert _is_gone(first)
    pool.close()


def test_a_fork_server_that_died_while_idle_costs_no_document(pool: ReaderPool, path: Path) -> None:
    first, _ = _ingest(pool, path)
    os.kill(_descendants(first)[-1], signal.SIGKILL)
    assert _is_gone(first)
    second, text = _ingest(pool, path)
    assert (second != first, text) == (True, "The text of the file.\n")


def test_an_ingest_that_fails_ends_its_fork_server(pool: ReaderPool, path: Path) -> None:
    readers = ParserProcess(pool=pool)
    process, _ = _read(readers, path)
    with pytest.raises(UnreadableFile), readers:
        _read(readers, path, "crash")
    assert _is_gone(process)
    assert _ingest(pool, path)[0] != process


def test_two_ingests_at_once_do_not_share_one(pool: ReaderPool, path: Path) -> None:
    with ParserProcess(pool=pool) as first, ParserProcess(pool=pool) as second:
        processes = {_read(first, path)[0], _read(second, path)[0]}
    assert len(processes) == 2
    assert _ingest(pool, path)[0] in processes
    (other,) = processes - {_ingest(pool, path)[0]}
    assert _is_gone(other)


def test_a_closed_pool_keeps_nothing(pool: ReaderPool, path: Path) -> None:
    with ParserProcess(pool=pool) as readers:
        process, _ = _read(readers, path)
        pool.close()
        assert _read(readers, path)[0] == process  # the ingest goes on to its end
    assert _is_gone(process)


def test_a_start_ahead_of_the_ingest_is_the_only_one(
    pool: ReaderPool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = _count_starts(monkeypatch)
    for _ in range(3):
        pool.start_early(ReadOptions(), {"read"})
    assert _ingest(pool, path)[1] == "The text of the file.\n"
    pool.start_early(ReadOptions(), {"read"})
    _ingest(pool, path)
    assert started == [ReadOptions()]


def test_a_pool_that_is_closed_during_a_start_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started = _count_starts(monkeypatch)
    before = family(os.getpid())
    pool = ReaderPool()
    pool.start_early(ReadOptions(), {"read"})
    pool.close()
    pool.start_early(ReadOptions(), {"read"})
    assert started == [ReadOptions()]
    assert family(os.getpid()) == before


def test_a_host_without_walls_is_not_tried_again_for_every_change(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr(
        reader_pool,
        "start_walled_children",
        lambda options, tasks: started.append(options) or StartedChildren(options, None, "landlock"),
    )
    pool = ReaderPool()
    for _ in range(3):
        with ParserProcess(pool=pool) as readers:
            assert [one.text for one in readers.parse("html", "<p>Words.", "a") if isinstance(one, RawDocument)]
    pool.close()
    assert started == [ReadOptions()]


def _count_starts(monkeypatch: pytest.MonkeyPatch) -> list[ReadOptions]:
    """The options of each start from now on."""
    started, start = [], reader_pool.start_walled_children

    def count(options: ReadOptions, tasks: Collection[Task]) -> StartedChildren:
        started.append(options)
        return start(options, tasks)

    monkeypatch.setattr(reader_pool, "start_walled_children", count)
    return started


def test_a_kept_fork_server_ends_with_a_process_that_is_killed() -> None:
    command = [sys.executable, "-c", _KEEPER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as keeper:
        assert keeper.stdout
        held, pid = keeper.stdout.readline().decode().split()
        processes = [int(pid), *_descendants(int(pid))]
        keeper.kill()
    assert held == "None"
    assert len(processes) > 1
    assert [pid for pid in processes if not _is_gone(pid)] == []


def test_a_watcher_reads_one_change_after_another_with_one_fork_server(tmp_path: Path) -> None:
    """And none is left once it has stopped."""
    folder, store = tmp_path / "pages", tmp_path / "store"
    folder.mkdir()
    add_source(store, folder)
    seen = []
    with watched(settings_of(store)) as (backends, watcher):
        for number in range(3):
            (folder / f"{number}.html").write_text(f"<title>Page {number}</title><p>Words of page {number}.")
            wait_for(lambda: watcher._pool._kept and len(backends.catalogue.documents("p")) == number + 1)  # noqa: B023
            assert isinstance(watcher._pool._kept.children, WalledChildren)
            seen.append(watcher._pool._kept.children._children._process.pid)
    assert seen == seen[:1] * 3
    assert _is_gone(seen[0])
