"""The child that parses without walls: limits are those of one document, and failures are named by its own end."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.office_files import docx, paragraph
from winnow.server.ingest.children.confined_process import ConfinedProcess
from winnow.server.readers.failures import ChildFailed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are those of POSIX")


@pytest.fixture
def child() -> Iterator[ConfinedProcess]:
    process = ConfinedProcess()
    yield process
    process.close()


def _file(path: Path) -> dict[str, Any]:
    options = {"keeps_hidden": False, "passwords": [], "uses_ocr": False}
    return {"do": "read", "reader": "docx", "path": str(path), **options}


def _page(words: str) -> dict[str, Any]:
    return {"do": "parse", "kind": "html", "uri": "a.html", "text": f"<p>{words}</p>"}


def test_each_file_is_read_after_another_and_after_a_page(child: ConfinedProcess, tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(docx(paragraph("words")).getvalue())
    requests = [_file(path), _file(path), _page("words"), _file(path)]
    assert [child.ask(request, 20.0, None)[1].strip() for request in requests] == [b"words"] * 4


def test_the_time_of_a_page_does_not_end_the_child_that_waits_for_the_next(child: ConfinedProcess) -> None:
    child.ask(_page("first"), 20.0, None)  # which loads the parsers
    running = child._running_child()
    child.ask(_page("one"), 0.1, None)
    time.sleep(0.8)  # twice the time on the clock that the first page had
    assert (child.ask(_page("two"), 20.0, None)[1].strip(), child._running_child()) == (b"two", running)


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGSEGV, "crashed (SIGSEGV)"), (signal.SIGXCPU, "takes longer than 20 s")],
)
def test_a_child_that_ends_is_named_by_its_own_end(child: ConfinedProcess, number: int, reason: str) -> None:
    running = child._running_child()
    os.kill(running.pid, signal.SIGSTOP)  # no answer before the signal
    threading.Timer(0.2, os.kill, (running.pid, number)).start()
    threading.Timer(0.3, os.kill, (running.pid, signal.SIGCONT)).start()
    with pytest.raises(ChildFailed) as failure:
        child.ask(_page("words"), 20.0, None)
    assert reason in str(failure.value)
