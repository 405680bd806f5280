"""Turns of pages that are drawn: one at a time, few that wait, none for a caller that is gone."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.pdf_files import PdfFile, Text, build_pdf
from winnow.server.errors import WinnowError
from winnow.server.ingest.children.page_drawing import MOST_AT_ONCE, PageDrawing
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.failures import STOPPED
from winnow.server.runtime.deadlines import CallEnded, Deadline, use_deadline

READERS = ("docutils", "selectolax", "winnow.server.readers.reading")


def test_the_operations_bring_no_reader() -> None:
    """A server answers its client before it loads what only a page that is shown needs."""
    program = (
        f"import sys, winnow.server.operations.table; print([each for each in {READERS} if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_page_whose_caller_is_gone_does_not_wait_for_its_turn() -> None:
    drawing = PageDrawing()
    with drawing.turn(), use_deadline(Deadline(math.inf, lambda: True)), pytest.raises(CallEnded), drawing.turn():
        pass
    with use_deadline(Deadline(math.inf, lambda: True)), pytest.raises(CallEnded), drawing.turn():
        pass
    with drawing.turn():
        pass


def test_few_pages_wait_and_one_more_is_refused_at_once() -> None:
    drawing, gone = PageDrawing(), threading.Event()

    def wait() -> None:
        with use_deadline(Deadline(math.inf, gone.is_set)), pytest.raises(CallEnded), drawing.turn():
            pass

    threads = [threading.Thread(target=wait) for _ in range(MOST_AT_ONCE - 1)]
    with ExitStack() as stack:
        stack.enter_context(drawing.turn())
        stack.callback(lambda: [thread.join() for thread in threads])
        stack.callback(gone.set)
        for thread in threads:
            thread.start()
        while (reason := _reason_of_refusal(drawing)) == "":  # until all threads wait
            pass
    assert reason == "QUEUE_FULL"


def _reason_of_refusal(drawing: PageDrawing) -> str:
    """Why a page is refused that would not wait; "" where it could wait."""
    try:
        with use_deadline(Deadline(math.inf, lambda: True)), drawing.turn():
            pass
    except WinnowError as error:
        return error.reason
    except CallEnded:
        return ""
    raise AssertionError


def test_nothing_is_drawn_once_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(build_pdf(PdfFile([[Text(72, 700, "A page.")]])))
    drawing = PageDrawing()
    drawing.close()
    with path.open("rb") as file, pytest.raises(UnreadableFile, match=STOPPED):
        drawing.draw(file, path, 1, ())
