"""Few open files, no temporary folder, two writers at once: success or a clear error, and no loss."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.flow.test_ingest_resume import PAGES, write_pages
from tests.flow.test_stdio import Pipe
from tests.patience import LIMIT
from winnow.server.transports.connections import OPEN_FILES

WINNOW = [sys.executable, "-c", "import winnow.server.commands.entry.cli; winnow.server.commands.entry.cli.main()"]
WORDS_ALONE = {"WINNOW_EMBEDDING": "off"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pages(tmp_path_factory.mktemp("texts") / "pages")


def start(
    *arguments: object, files: int | None = None, variables: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start a command with a limit on open files; one without may be a fork."""
    bound = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (files, files)) if files else None
    return subprocess.Popen(
        [*WINNOW, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **WORDS_ALONE, **(variables or {})},
        preexec_fn=bound,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """The exit code and the output; a traceback fails the test."""
    said, complained = process.communicate(timeout=LIMIT)
    assert "Traceback" not in said + complained
    return process.returncode, said, complained


def ingest(store: Path, pages: Path, **bounds: Any) -> subprocess.Popen[str]:
    return start("ingest", pages, "--store", store, "--project", "p", "--json", **bounds)


def documents(store: Path) -> int:
    code, said, complained = finish(start("stats", "--store", store, "--json"))
    assert code == 0, complained
    return sum(int(project["documents"]) for project in json.loads(said)["projects"])


def search_and_run_script(process: subprocess.Popen[str]) -> Sequence[Any]:
    """Whether a search finds rows, and a script's result and error; then the server ends."""
    with process:
        pipe = Pipe(process)
        pipe.shake_hands()
        found = pipe.call(2, "kb_search", query="case rule")
        pipe.send(
            id=3, method="tools/call", params={"name": "execute_code", "arguments": {"code": "return 6 * 7"}}
        )
        told = pipe.answer(3)["result"].get("structuredContent", {})
        assert finish(process)[0] == 0
    return len(found.get("results", ())) > 0, told.get("result"), told.get("error")


def test_ingest_and_stdio_serve_with_sixty_four_open_files(pages: Path, tmp_path: Path) -> None:
    code, said, complained = finish(ingest(tmp_path / "store", pages, files=64))
    assert (code, json.loads(said or "{}").get("documents")) == (0, PAGES), complained
    server = start("serve", "--store", tmp_path / "store", "--project", "p", "--no-daemon", files=64)
    assert search_and_run_script(server) == (True, 42, None)


def test_too_few_open_files_are_named_and_the_next_ingest_goes_on(pages: Path, tmp_path: Path) -> None:
    code, said, complained = finish(ingest(tmp_path / "store", pages, files=15))
    assert (code, "ulimit -n" in said) == (4, True), said + complained
    assert finish(ingest(tmp_path / "store", pages))[0] == 0
    assert documents(tmp_path / "store") == PAGES


def test_http_says_at_start_how_many_open_files_it_needs(tmp_path: Path) -> None:
    code, _, complained = finish(start("serve", "--store", tmp_path, "--http", "127.0.0.1:0", files=64))
    assert (code, f"ulimit -n {OPEN_FILES}" in complained) == (2, True), complained


def test_no_temporary_folder_is_needed(pages: Path, tmp_path: Path) -> None:
    nowhere = {"TMPDIR": str(tmp_path / "missing")}
    code, _, complained = finish(ingest(tmp_path / "store", pages, variables=nowhere))
    assert code == 0, complained
    server = start("serve", "--store", tmp_path / "store", "--project", "p", variables=nowhere)
    assert search_and_run_script(server) == (True, 42, None)


def _reason(said: str) -> str:
    return str(json.loads(said)["error"]["details"]["reason"])


def test_of_two_ingests_at_once_one_waits_or_says_so_and_nothing_is_lost(pages: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for code, said, complained in map(finish, [ingest(store, pages) for _ in range(2)]):
        assert code == 0 or (code == 4 and _reason(said) == "INDEX_HELD"), said + complained
    assert finish(ingest(store, pages))[0] == 0
    assert documents(store) == PAGES


def test_searches_go_on_while_the_store_is_embedded_anew_and_a_move_waits_for_the_engine(
    pages: Path, tmp_path: Path
) -> None:
    store, moved = tmp_path / "store", tmp_path / "moved"
    assert finish(ingest(store, pages))[0] == 0
    unlimited = ("--calls-per-minute", "100000")
    servers = [start("serve", "--store", store, "--project", "p", "--daemon", *unlimited) for _ in range(3)]
    pipes = [Pipe(server) for server in servers]
    for pipe in pipes:
        pipe.shake_hands()
    for command, expected in ((("reindex",), 0), (("migrate", "--to", moved), 4)):
        work, calls = start(*command, "--store", store, "--json"), 0
        while work.poll() is None or calls < len(pipes):
            for pipe in pipes:
                calls += 1
                found = pipe.call(1_000 + calls, "kb_search", query=f"case of rule {calls}", top_k=3)
                assert "error" not in found, found
                assert found["results"]
        code, said, complained = finish(work)
        assert code == expected, said + complained
        assert code == 0 or _reason(said) == "INDEX_HELD"  # an engine has it, and the error says how to end that
    for server in servers:
        assert finish(server)[0] == 0
    assert finish(start("engine", "stop", "--store", store))[0] == 0
    assert finish(start("migrate", "--store", store, "--to", moved))[0] == 0
    assert finish(ingest(moved, pages))[0] == 0
    assert [documents(store), documents(moved)] == [PAGES, PAGES]


@pytest.fixture(params=[1, 3, 6, 10, 40, 90])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A file system of so many MB, in memory: writing to a mapped file there kills a process when it is full."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={request.param}m", "none", str(folder)]
    may_mount = not os.geteuid() and shutil.which("mount") is not None
    if not may_mount or subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("a file system in memory can be mounted by root alone")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_too_small_is_named_and_ends_no_process(pages: Path, small_disk: Path) -> None:
    """Also where it is full before the index is made, and where it becomes full while the index is there."""
    code, answer, _ = finish(ingest(small_disk / "store", pages))
    if code:
        assert (code, "free some space" in answer) == (4, True)
    else:
        assert documents(small_disk / "store") == PAGES
    with suppress(OSError), (small_disk / "rest").open("wb", buffering=0) as rest:
        while rest.write(bytes(4096)) == 4096:
            pass
    for words in (("search", "page"), ("doctor",), ("ingest", pages)):
        code, _, _ = finish(start(*words, "--store", small_disk / "store"))
        assert (words[0], code >= 0) == (words[0], True)
