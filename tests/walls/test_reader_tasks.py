"""A fork server of readers has loaded what the tasks of its files need, and no more."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.damaged_files import SEEDS
from winnow.server.ingest.children.parser import ParserProcess, expected_tasks
from winnow.server.ingest.children.walled_children import WalledChildren
from winnow.server.models import WantedText
from winnow.server.readers.documents import RawDocument
from winnow.server.readers.formats.format_table import FORMATS
from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.readers.tasks import dry_run
from winnow.server.readers.tasks.table import TASKS, Task

# Forks of a template have all tasks, so that none would lack what it needs.
pytestmark = [pytest.mark.walls, pytest.mark.real_starts]

# Of a word of this kind a token is two characters, not four.
_LONG = "\n\n".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(5_000))
_BOOK = '@book{a, title = {M{\\"u}ller}, author = {Doe, Jane}, year = 2001}'
_PAGES: Mapping[str, tuple[str, str]] = {
    "html": ("<title>A</title><h1>Head</h1><p>Words &eacute;.", "# Head\n\nWords é."),
    "rst": ("Head\n====\n\n.. note:: Words\n\n.. csv-table::\n\n   a,b\n", "Words"),
    "manual": (".TH A 1\n.SH NAME\na \\- words\n", "words"),
}


@pytest.fixture(scope="module", params=["read", "read_sheet"])
def children(request: pytest.FixtureRequest) -> Iterator[tuple[Task, WalledChildren]]:
    """Children with one task."""
    children = WalledChildren({request.param})
    yield request.param, children
    children.close()


def _server(children: object) -> int:
    assert isinstance(children, WalledChildren)
    return children._children._process.pid


def _server_of(readers: ParserProcess) -> int:
    assert readers._walled is not None
    return _server(readers._walled.children)


def test_each_format_is_read_with_its_task_alone(children: tuple[Task, WalledChildren], tmp_path: Path) -> None:
    """The text is that of the reader in this process, where nothing keeps it from importing more."""
    task, walled = children
    server = _server(walled)
    found: dict[tuple[str, str], str] = {}
    wanted: dict[tuple[str, str], str] = {}
    for suffix, data in SEEDS.items():
        for name in FORMATS[suffix].readers if FORMATS[suffix].task == task else ():
            path = tmp_path / f"file{suffix}"
            path.write_bytes(data)
            reader: Any = importlib.import_module(f"winnow.server.readers.formats.{name}")
            wanted[suffix, name] = reader.read(io.BytesIO(data), ReadOptions()).text
            with ParserProcess() as asking, path.open("rb") as file:
                found[suffix, name] = asking._ask_reader(walled, task, name, path, file, 20.0).text
    assert len(found) > 1
    assert (found, _server(walled)) == (wanted, server)


@pytest.mark.parametrize("kind", _PAGES)
def test_markup_is_parsed_with_its_task_alone(kind: Any) -> None:
    text, words = _PAGES[kind]
    with ParserProcess() as readers:
        (page,) = readers.parse(kind, text, "a")
        assert isinstance(page, RawDocument)
        assert (words in page.text, _server_of(readers) > 0) == (True, True)


def test_a_long_text_is_split_with_its_task_alone() -> None:
    """With the vocabulary: without it a child would count bytes, and split in other places."""
    request: dict[str, Any] = {"do": "dry_run", "kind": "text", "uri": "a", "title": "a", "text": _LONG}
    request |= {"metadata": {}, "body_start": 0, "places": []}
    with ParserProcess() as readers:
        facts, _ = readers._children("dry_run").ask(request, 60.0, None)
    assert json.loads(facts) == dry_run.serve(request, io.BytesIO)[0]


def test_a_bibliography_is_read_with_its_task_alone(tmp_path: Path) -> None:
    path = tmp_path / "works.bib"
    path.write_text(_BOOK)
    with ParserProcess() as readers:
        (work,) = readers.read_bibliography(path).items
    assert (work.title, work.year) == ("Müller", 2001)


def test_a_page_is_drawn_with_its_task_alone(tmp_path: Path) -> None:
    path = tmp_path / "file.pdf"
    path.write_bytes(SEEDS[".pdf"])
    with ParserProcess() as readers, path.open("rb") as file:
        assert readers.draw_page(file, path, 1, [WantedText("no such words here")]).marks == ("absent",)


def test_a_task_that_was_not_expected_has_the_fork_server_started_anew_with_those_before() -> None:
    with ParserProcess() as readers:
        list(readers.parse("html", "<p>Words.", "a"))
        first = _server_of(readers)
        readers.dry_run(RawDocument("a", "text", "a", _LONG))
        second = _server_of(readers)
        list(readers.parse("html", "<p>Words.", "a"))
        readers.dry_run(RawDocument("a", "text", "a", _LONG))
        assert (first != second, _server_of(readers)) == (True, second)


def test_expected_tasks_are_loaded_with_the_first() -> None:
    with ParserProcess() as readers:
        readers.expect(frozenset({"parse", "dry_run"}))
        list(readers.parse("html", "<p>Words.", "a"))
        first = _server_of(readers)
        readers.dry_run(RawDocument("a", "text", "a", _LONG))
        assert _server_of(readers) == first


@pytest.mark.parametrize(
    ("name", "size", "uses_ocr", "tasks"),
    [
        ("a.md", 100, False, set()),
        ("a.md", 300_000, False, {"dry_run"}),
        ("a.html", 100, False, {"parse"}),
        ("a.rst", 300_000, False, {"parse", "dry_run"}),
        ("a.1", 100, False, {"parse"}),
        ("a.pdf", 300_000, False, {"read"}),
        ("a.pdf", 3 << 20, False, {"read", "dry_run"}),
        ("a.docx", 100, False, {"read"}),
        ("a.csv", 100, False, {"read_sheet"}),
        ("a.png", 100, False, set()),
        ("a.png", 100, True, {"read"}),
    ],
)
def test_the_tasks_of_a_file_follow_from_its_name_and_size(
    name: str, size: int, uses_ocr: bool, tasks: set[Task]
) -> None:
    assert expected_tasks(Path(name), size, ReadOptions(uses_ocr=uses_ocr)) == tasks


def test_each_format_has_a_task() -> None:
    assert {form.task for form in FORMATS.values()} <= set(TASKS)
