"""Files are read in children behind the walls: what they return, how they fail, and what is done without walls."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from winnow.server.ingest.children import parser, walled_children
from winnow.server.ingest.children.parser import ParserProcess
from winnow.server.ingest.children.reader_pool import StartedChildren
from winnow.server.ingest.children.walled_children import WalledChildren
from winnow.server.models import Place, Reading
from winnow.server.readers.common import ocr_package
from winnow.server.readers.documents import RawDocument, UnreadableFile, clean_document
from winnow.server.readers.formats.format_table import Format
from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.readers.tasks.table import Task

pytestmark = [pytest.mark.walls, pytest.mark.both_users]

_PROGRAM = "tests.walls.reader_program"

READ_THEM = ocr_package.advise("to read them by OCR: --ocr")


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children run the readers of reader_program.py."""
    monkeypatch.setattr(walled_children, "MODULE", _PROGRAM)


@pytest.fixture
def readers() -> Iterator[ParserProcess]:
    with ParserProcess() as process:
        yield process


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "book.file"
    path.write_text("The text of the file.\n")
    return path


def _read(readers: ParserProcess, path: Path, *names: str) -> RawDocument:
    (document,) = readers.read(path, path.name, Format("book", names))
    assert isinstance(document, RawDocument)
    return document


def _reason(readers: ParserProcess, path: Path, *names: str) -> str:
    with pytest.raises(UnreadableFile) as caught:
        _read(readers, path, *names)
    return str(caught.value)


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _fork_server(readers: ParserProcess) -> int:
    assert readers._walled is not None
    assert isinstance(readers._walled.children, WalledChildren)
    return readers._walled.children._children._process.pid


def test_a_file_is_read_with_its_places_facts_and_the_way_it_was_read(readers: ParserProcess, path: Path) -> None:
    document = _read(readers, path, "whole")
    assert (document.text, document.title, document.type) == ("The text of the file.\n", "book", "book")
    assert document.places == (Place(0, "page", 1, "i"),)
    assert document.reading == Reading("test", pages=1)
    assert document.metadata == {"author": "A"}


def test_the_walls_stand_although_a_library_started_a_thread_at_its_import() -> None:
    children = WalledChildren({"read"})
    children.close()
    assert (children.missing, children.breaches) == ((), ())


def test_the_options_reach_the_reader(path: Path) -> None:
    with ParserProcess(ReadOptions(True, ("a", "b"), False)) as readers:
        assert _read(readers, path, "options").text == "True ('a', 'b') False"


def test_line_ends_are_cleaned_and_places_follow_them(readers: ParserProcess, path: Path) -> None:
    document = clean_document(_read(readers, path, "lines"))
    assert (document.text, [place.start for place in document.places]) == ("one\ntwo\n", [0, 4])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("crash", "its parser crashed (SIGSEGV); the file may be damaged: save it again from its program"),
        ("panic", "its parser failed (BaseException)"),
        ("memory", "needs more memory than its reader may have; split it"),
        ("exit", "its parser gave no answer"),
        ("signal", "its parser was ended at a system call that no reader needs"),
        ("places", "its parser returned an invalid answer"),
        ("absent", "the reader absent is not available: No module named 'winnow.server.readers.formats.absent'"),
        (
            "nothing",
            f"no text in it, but 2 pages that are images (1-2); {READ_THEM}",
        ),
    ],
)
def test_the_next_reader_reads_what_the_first_does_not(
    readers: ParserProcess, path: Path, name: str, reason: str
) -> None:
    """Where none reads the file, the reason of the first is given."""
    document = _read(readers, path, name, "whole")
    assert document.reading is not None
    assert document.text == "The text of the file.\n"
    assert document.reading.notes == (f"another reader did not read it: {reason}",)
    assert _reason(readers, path, name, "crash") == reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [("flaw", "encrypted"), ("long", "its text is longer than 16 million characters; split it")],
)
def test_a_flaw_of_the_file_is_final(readers: ParserProcess, path: Path, name: str, reason: str) -> None:
    assert _reason(readers, path, name, "whole") == reason


@pytest.mark.parametrize("name", ["loop", "sleep"])
def test_a_reader_that_does_not_end_is_ended(
    readers: ParserProcess, path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser, "_SECONDS", {"read": (1.0, 0.0, 1.0)})
    assert _reason(readers, path, name).startswith("takes longer than 1 s to parse")
    assert _read(readers, path, "whole").text


def test_a_reader_that_went_on_without_a_module_which_is_installed_has_not_read_the_file(
    readers: ParserProcess, path: Path
) -> None:
    reason = "its reader needs the module tabnanny, which was not loaded before its walls stood; please report it"
    assert _reason(readers, path, "late") == reason
    assert _read(readers, path, "optional").text == "whole"


def test_no_process_is_left_behind(path: Path) -> None:
    before = _children(os.getpid())
    with ParserProcess() as readers:
        _reason(readers, path, "crash")
        assert _read(readers, path, "whole").text
        assert len(_children(os.getpid())) == len(before) + 1
    assert _children(os.getpid()) == before


def test_closing_ends_a_file_that_another_thread_reads(readers: ParserProcess, path: Path) -> None:
    _read(readers, path, "whole")
    timer = threading.Timer(0.5, readers.close)
    timer.start()
    began = time.monotonic()
    assert _reason(readers, path, "sleep") == "the ingest was stopped"
    assert time.monotonic() - began < 30
    timer.join()


def test_a_fork_server_that_was_killed_is_replaced(readers: ParserProcess, path: Path) -> None:
    _read(readers, path, "whole")
    first = serving = _fork_server(readers)
    while below := _children(serving):
        (serving,) = below
    os.kill(serving, 9)
    assert _reason(readers, path, "whole") == "the fork server is gone"
    assert _read(readers, path, "whole").text
    assert _fork_server(readers) != first


def test_no_child_has_the_environment_of_the_ingest(
    readers: ParserProcess, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    _read(readers, path, "whole")
    pids = [_fork_server(readers)]
    while below := _children(pids[-1]):
        pids += below
    assert [pid for pid in pids if "sk-secret" in Path(f"/proc/{pid}/environ").read_text()] == []


def test_without_walls_only_texts_are_parsed_and_the_reason_names_the_flag(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        parser, "start_walled_children", lambda options, tasks: StartedChildren(options, None, "landlock")
    )
    with ParserProcess() as readers:
        assert _reason(readers, path, "whole") == (
            "the walls around its reader are missing here (see: winnow doctor); to read such files without them, "
            "at the risk that winnow ingest --help names: --allow-weaker-reader"
        )
        assert (readers.tier, readers.wall_warnings[0].partition(";")[0]) == (
            "none",
            "1 file was not read (PDF, office files, books, mail): walls around their readers are missing here "
            "(landlock)",
        )
        _reason(readers, path, "whole")
        assert "2 files were not read" in readers.wall_warnings[0]
        (page,) = readers.parse("html", "<title>A page</title><p>Words.</p>", "a.html")
        assert isinstance(page, RawDocument)
        assert (page.title, page.text) == ("A page", "Words.")


def test_with_the_flag_files_are_read_without_walls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        parser, "start_walled_children", lambda options, tasks: StartedChildren(options, None, "landlock")
    )
    path = tmp_path / "rows.pdf"
    path.write_bytes(b"%PDF-1.4\nnothing\n")
    with ParserProcess(allows_weaker=True) as readers:
        assert _reason(readers, path, "pdf_pdfium").startswith("damaged: it begins like a PDF")


def test_files_are_read_in_a_lesser_tier_which_the_ingest_names(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(options: ReadOptions, tasks: Collection[Task]) -> StartedChildren:
        return StartedChildren(options, WalledChildren(tasks), "network_namespace", "container")

    monkeypatch.setattr(parser, "start_walled_children", start)
    with ParserProcess() as readers:
        assert [one.text for one in readers.parse("html", "<p>Words.", "a") if isinstance(one, RawDocument)]
        assert (readers.tier, readers.wall_warnings) == ("", ())
        assert _read(readers, path, "whole").text == "The text of the file.\n"
        (warning,) = readers.wall_warnings
    assert (readers.tier, warning.startswith("files were read behind the walls of the tier 'container'")) == (
        "container",
        True,
    )


def test_a_fork_server_with_other_walls_than_the_first_reads_nothing(
    readers: ParserProcess, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _read(readers, path, "whole")
    assert readers._walled is not None
    assert isinstance(readers._walled.children, WalledChildren)
    serving = _fork_server(readers)
    monkeypatch.setattr(walled_children, "_missing_of", lambda children: ("landlock",))
    while below := _children(serving):
        (serving,) = below
    os.kill(serving, 9)
    assert _reason(readers, path, "whole") == "the walls around its reader are not those of the files before"


def test_files_that_are_too_large_empty_or_of_another_kind_are_named(
    readers: ParserProcess, tmp_path: Path
) -> None:
    contents = {
        "empty.pdf": b"",
        "page.pdf": b"<html>",
        "old.docx": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"0" * 99,
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    with (tmp_path / "large.pdf").open("wb") as file:
        file.write(b"%PDF-1.4")
        file.truncate(513 << 20)
    (tmp_path / "link.pdf").symlink_to(tmp_path / "page.pdf")
    reasons = {path.name: _reason(readers, path, "whole") for path in sorted(tmp_path.iterdir())}
    assert reasons == {
        "empty.pdf": "empty",
        "large.pdf": "larger than 512 MiB; split it into smaller files",
        "link.pdf": "a link, not a file",
        "old.docx": "an old office document, or an encrypted one; save it in today's format without a password",
        "page.pdf": "not a PDF",
    }
