"""``kb_show`` over MCP: the cited page as a picture with the quote marked, lines of texts, refusals, and scope."""

from __future__ import annotations

import os
import shutil
from base64 import b64decode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ImageContent, TextContent

from tests.ingesting import ingest_paths
from tests.page_pixels import Pixels, is_paper, is_yellow
from tests.pdf_files import Box, Drawing, PdfFile, Text, build_pdf, paragraph
from tests.serving import serve
from tests.two_projects import make_client
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.jobs.target import target_of
from winnow.server.projects.archive import ProjectArchive
from winnow.server.projects.transfer import export_project, import_project
from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.transports.access.http_access import HttpAccess
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.facade.service import FacadeService
from winnow.server.transports.http import PATH
from winnow.server.transports.protocol import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

FURNACE, KILN = "The furnace is lit at dawn by two people.", "The kiln is kept at ninety degrees."
LINES = ["# Rules", "", "One rule is here.", "Backups are kept for ninety days.", "", "Another rule.", "The end."]


def write_files(folder: Path) -> Path:
    """A PDF of three pages that are numbered from ii on, and a text."""
    folder.mkdir()
    pages: list[Sequence[Drawing]] = [
        paragraph(72, 760, [FURNACE, "Nobody enters."]),
        paragraph(72, 760, ["A page.", KILN]),
        [],
    ]
    pages[2] = paragraph(72, 760, ["It goes on until", "the evening comes."])
    pages.append([Box(100, 100, 300, 300, (1, 0, 0))])  # a drawing without words
    file = PdfFile(pages, labels="0 << /S /r /St 2 >>")
    (folder / "kilns.pdf").write_bytes(build_pdf(file))
    (folder / "rules.md").write_text("\n".join(LINES) + "\n", "utf-8")
    return folder


def ingest(store: Path, folder: Path, project: str = "p", options: ReadOptions | None = None) -> Settings:
    settings = load_settings(store=store, project=project, embedding="off", tools=("all", "pages"))
    backends = open_backends(settings, wait_for_model=False)
    try:
        report = ingest_paths(target_of(settings, backends, None), [folder], options=options)
        assert report.failures == ()
    finally:
        backends.close()
    return settings


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("shown") / "files")


@pytest.fixture(scope="module")
async def application(files: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Application]:
    async with open_application(ingest(tmp_path_factory.mktemp("store"), files), wait_for_model=False) as opened:
        yield opened


@asynccontextmanager
async def client_of(application: Application) -> AsyncIterator[Client]:
    async with Client(build_server(Dispatcher(application.context, application.settings), application)) as client:
        yield client


@dataclass(frozen=True)
class Shown:
    """An answer: its data, its text, and its images."""

    data: dict[str, Any]
    text: str
    images: tuple[bytes, ...]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, result: CallToolResult) -> Shown:
        data = dict(result.structured_content or {})
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        images = [block for block in result.content if isinstance(block, ImageContent)]
        assert {image.mime_type for image in images} <= {"image/png"}
        return cls(data, "\n".join(texts), tuple(b64decode(each.data) for each in images),
                   tuple(data["meta"]["warnings"]))  # fmt: skip

    @property
    def reason(self) -> str:
        return str(self.data["error"]["details"]["reason"])

    @property
    def message(self) -> str:
        return str(self.data["error"]["message"])


async def show(application: Application, **arguments: Any) -> Shown:
    async with client_of(application) as client:
        return Shown.of(await client.call_tool("kb_show", arguments))


async def test_the_page_of_a_quote_is_an_image_with_its_words_marked(application: Application) -> None:
    shown = await show(application, document="kilns.pdf", quote=KILN)
    (data,) = shown.images
    pixels = Pixels.of(data)
    assert shown.data["image"] == {
        "mime_type": "image/png", "width": pixels.width, "height": pixels.height, "bytes": len(data),
    }  # fmt: skip
    scale = pixels.height / 842
    above, line = ((75 * scale, (842 - y - 4) * scale, 100 * scale, (842 - y) * scale) for y in (760, 747.5))
    assert pixels.share(line, is_paper) == 0.0
    assert pixels.share(above, is_yellow) == 0.0
    assert (shown.data["mark"], shown.data["text"], shown.warnings) == ("exact", "", ())
    assert (shown.data["page_span"], shown.data["page_labels"]) == ([2, 2], ["iii", "iii"])
    assert "p. iii (file page 2)" in shown.text
    assert len(data) <= 200_000


async def test_a_row_of_a_search_is_shown_with_its_quote(application: Application) -> None:
    async with client_of(application) as client:
        found = await client.call_tool("kb_search", {"query": "at how many degrees is the kiln kept"})
        row = next(each for each in (found.structured_content or {})["results"] if "page_span" in each)
        for name in ("passage_id", "section_id"):
            asked = {"passage_id": row[name], "quote": KILN}
            shown = Shown.of(await client.call_tool("kb_show", asked))
            assert (shown.data["mark"], shown.data["page_span"], len(shown.images)) == ("exact", [2, 2], 1)


async def test_a_passage_without_a_quote_is_marked_itself(application: Application) -> None:
    async with client_of(application) as client:
        found = await client.call_tool("kb_search", {"query": "furnace lit at dawn"})
        row = (found.structured_content or {})["results"][0]
        shown = Shown.of(await client.call_tool("kb_show", {"passage_id": row["passage_id"]}))
    assert (shown.data["mark"], shown.data["page_span"]) == ("passage", [1, 1])
    pixels = Pixels.of(shown.images[0])
    scale = pixels.height / 842
    assert pixels.share((75 * scale, 78 * scale, 200 * scale, 82 * scale), is_paper) == 0.0


async def test_a_quote_over_two_pages_shows_the_first_and_marks_what_is_there(application: Application) -> None:
    shown = await show(application, document="kilns.pdf", quote=f"{KILN} It goes on until the evening comes.")
    assert (shown.data["mark"], shown.data["page_span"]) == ("exact", [2, 2])


@pytest.mark.parametrize(("page", "number"), [("1", 1), ("p. iii", 2), ("3", 3), ("2-3", 2)])
async def test_a_page_is_shown_by_its_number_or_by_what_is_printed(
    application: Application, page: str, number: int
) -> None:
    shown = await show(application, document="kilns.pdf", page=page)
    assert (shown.data["page_span"], shown.data["mark"], len(shown.images)) == ([number, number], "none", 1)


async def test_a_page_without_words_is_shown_and_a_quote_is_said_to_be_elsewhere(application: Application) -> None:
    shown = await show(application, document="kilns.pdf", page=4, quote=KILN)
    pixels = Pixels.of(shown.images[0])
    assert (shown.data["page_span"], shown.data["mark"]) == ([4, 4], "absent")
    assert pixels.at(pixels.width * 250 // 595, pixels.height * 600 // 842) == (255, 0, 0)
    assert shown.warnings == ("the quote is not on this page; it is on p. iii (file page 2)",)
    without = await show(application, document="kilns.pdf", page=4, image=False)
    assert (without.reason, without.message[:28]) == ("INVALID_REQUEST", "page: there is no file page ")


async def test_without_an_image_a_page_is_its_text_with_the_quote_marked(application: Application) -> None:
    shown = await show(application, document="kilns.pdf", quote=KILN, image=False)
    start, end = shown.data["marked"]
    assert (shown.data["text"][start:end], shown.images) == (KILN.rstrip("."), ())
    assert "first_line" not in shown.data
    assert f"\u27e6{KILN[:-1]}\u27e7" in shown.text


async def test_a_text_is_shown_as_numbered_lines_with_the_quote_marked(application: Application) -> None:
    shown = await show(application, document="rules.md", quote="kept for ninety days")
    start, end = shown.data["marked"]
    assert shown.data["text"][start:end] == "kept for ninety days"
    assert shown.data["text"].split("\n") == LINES
    assert shown.data["first_line"] == 1
    assert " >      4  Backups are \u27e6kept for ninety days\u27e7." in shown.text.split("\n")


async def test_a_quote_with_other_words_is_marked_and_said_to_be_another(application: Application) -> None:
    shown = await show(application, document="kilns.pdf", quote="The kiln is kept at sixty degrees.")
    assert shown.data["mark"] == "closest"
    assert shown.warnings == (
        "the quote does not stand there word for word; marked is the closest text: "
        "'The kiln is kept at ninety degrees'",
    )


async def test_a_quote_of_another_page_is_not_marked_and_the_warning_names_its_page(
    application: Application,
) -> None:
    shown = await show(application, document="kilns.pdf", page=1, quote=KILN)
    assert (shown.data["mark"], shown.data["page_span"], len(shown.images)) == ("absent", [1, 1], 1)
    assert shown.warnings == ("the quote is not on this page; it is on p. iii (file page 2)",)


@pytest.mark.parametrize(
    ("arguments", "reason", "message"),
    [
        ({}, "INVALID_REQUEST", "passage_id, document: give passage_id, or document with page or quote"),
        ({"passage_id": "0" * 12, "document": "rules.md"}, "INVALID_REQUEST", "passage_id, document: give"),
        ({"passage_id": "0" * 12, "page": 1}, "INVALID_REQUEST", "page: a passage has its own"),
        ({"passage_id": "0" * 12}, "NOT_FOUND", "no passage '000000000000' in this session"),
        ({"document": "absent.pdf"}, "NOT_FOUND", "document: none that this call reaches"),
        ({"document": "../files/kilns.pdf"}, "NOT_FOUND", "document: none that this call reaches"),
        ({"document": "/etc/passwd"}, "NOT_FOUND", "document: none that this call reaches"),
        ({"document": "kilns.pdf", "page": 9}, "INVALID_REQUEST", "page: 'kilns.pdf' has no page 9; it has 4"),
        ({"document": "kilns.pdf", "quote": "--"}, "INVALID_REQUEST", "quote: it has no words to look for"),
        ({"document": "kilns.pdf", "quote": "Winter wheat ripens"}, "NOT_FOUND", "quote: it does not stand in"),
        ({"document": "kilns.pdf", "scope": {"project_id": "another"}}, "SCOPE_VIOLATION", ""),
    ],
)
async def test_what_cannot_be_shown_is_refused_with_what_to_do(
    application: Application, arguments: dict[str, Any], reason: str, message: str
) -> None:
    shown = await show(application, **arguments)
    assert (shown.reason, shown.message[: len(message)], shown.images) == (reason, message, ())


async def test_a_client_on_a_pipe_gets_the_address_of_the_page(application: Application, files: Path) -> None:
    shown = await show(application, document="kilns.pdf", quote=KILN)
    assert shown.data["url"] == (files / "kilns.pdf").as_uri() + "#page=2"
    assert shown.data["url"] in shown.text.split("\n")


async def test_a_client_over_http_gets_the_image_and_no_path_of_the_host(
    application: Application, files: Path
) -> None:
    dispatcher = Dispatcher(application.context, application.settings)
    facade = FacadeService(dispatcher, application)
    async with (
        serve(build_server(dispatcher, application), facade=facade) as (host, port),
        httpx2.AsyncClient(base_url=f"http://{host}:{port}") as http,
        Client(streamable_http_client(f"http://{host}:{port}{PATH}")) as client,
    ):
        result = await client.call_tool("kb_show", {"document": "kilns.pdf", "quote": KILN})
        posted = await http.post("/mcp/tool/kb.show", json={"document": "kilns.pdf", "quote": KILN})
    shown, envelope = Shown.of(result), posted.json()
    assert len(shown.images) == 1
    assert "url" not in shown.data
    assert str(files) not in result.model_dump_json()
    assert [b64decode(image["data"]) for image in envelope["images"]] == [*shown.images]
    assert envelope["data"] == {name: value for name, value in shown.data.items() if name != "meta"}
    assert str(files) not in posted.text


# --- files that are not as they were ingested


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[tuple[Application, Path]]:
    """A server over files of its own, which a test changes."""
    folder = write_files(tmp_path / "files")
    async with open_application(ingest(tmp_path / "store", folder), wait_for_model=False) as opened:
        yield opened, folder / "kilns.pdf"


def _change(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"ninety", b"eighty"))


def _replace_by_a_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere.pdf"))
    path.symlink_to("elsewhere.pdf")


def _replace_the_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.symlink_to("moved")


def _replace_by_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


ALTERED = (
    (_change, "'kilns.pdf' changed since it was ingested, so its pages may not be the cited ones; "),
    (Path.unlink, "'kilns.pdf' cannot be opened: No such file or directory; put it back"),
    (_replace_by_a_link, "'kilns.pdf' cannot be opened: a link, not a file; put it back"),
    (_replace_the_folder, "'kilns.pdf' cannot be opened: a link, not a file; put it back"),
    (_replace_by_a_pipe, "'kilns.pdf' cannot be opened: a named pipe, not a file; put it back"),
)


async def test_a_file_that_is_not_the_ingested_one_is_not_shown_but_its_text_is(
    own: tuple[Application, Path],
) -> None:
    application, path = own
    kept = path.parent.with_name("kept")
    shutil.copytree(path.parent, kept)
    for alter, message in ALTERED:
        alter(path)
        shown = await show(application, document="kilns.pdf", quote=KILN)
        assert (shown.reason, shown.message[: len(message)], shown.images) == ("SOURCE_UNAVAILABLE", message, ())
        assert (await show(application, document="kilns.pdf", quote=KILN, image=False)).data["mark"] == "exact"
        path.parent.unlink() if path.parent.is_symlink() else shutil.rmtree(path.parent)
        shutil.rmtree(path.parent.with_name("moved"), ignore_errors=True)
        shutil.copytree(kept, path.parent)  # with its times
        assert len((await show(application, document="kilns.pdf", quote=KILN)).images) == 1


async def test_the_address_of_a_changed_file_comes_with_a_warning(own: tuple[Application, Path]) -> None:
    application, path = own
    _change(path)
    shown = await show(application, document="kilns.pdf", quote=KILN, image=False)
    assert shown.data["url"] == path.as_uri() + "#page=2"
    assert [warning[:42] for warning in shown.warnings] == ["'kilns.pdf' changed since it was ingested: "[:42]]


async def test_a_file_that_its_last_ingest_could_not_read_is_not_shown(tmp_path: Path) -> None:
    path = write_files(tmp_path / "files") / "kilns.pdf"
    settings = ingest(tmp_path / "store", path.parent)
    path.write_bytes(b"%PDF-1.7\nnothing")
    with closing(open_backends(settings, wait_for_model=False)) as backends:
        assert len(ingest_paths(target_of(settings, backends, None), [path.parent]).failures) == 1
    async with open_application(settings, wait_for_model=False) as opened:
        shown = await show(opened, document="kilns.pdf", quote=KILN)
    message = (
        "the last ingest of 'kilns.pdf' was interrupted, or could not read it, so its pages may not be the cited"
    )
    assert (shown.reason, shown.message[: len(message)]) == ("SOURCE_UNAVAILABLE", message)


async def test_a_document_of_an_archive_has_no_file_though_one_is_where_it_was_ingested(tmp_path: Path) -> None:
    settings = ingest(tmp_path / "store", write_files(tmp_path / "files"))
    there = settings.model_copy(update={"store": tmp_path / "elsewhere"})
    archive = tmp_path / "p.zip"
    with closing(open_backends(settings, wait_for_model=False)) as backends:
        export_project(settings, backends.catalogue, "p", archive)
    with closing(open_backends(there, wait_for_model=False)) as backends, archive.open("rb") as file:
        import_project(there, backends, ProjectArchive(file, archive.name), "p", lambda _: None)
    async with open_application(there, wait_for_model=False) as opened:
        drawn = await show(opened, document="kilns.pdf", quote=KILN)
        read = await show(opened, document="kilns.pdf", quote=KILN, image=False)
    assert (drawn.reason, drawn.message[:35]) == ("UNSUPPORTED", "'kilns.pdf' was not ingested from a")
    assert (read.data["mark"], "url" in read.data, read.warnings) == ("exact", False, ())


async def test_words_that_are_hidden_on_the_page_are_not_said_to_be_marked(tmp_path: Path) -> None:
    """Where hidden text was ingested, and a person sees other words."""
    folder = tmp_path / "files"
    folder.mkdir()
    hidden = Text(72, 700, "It is kept for ninety days at dawn.", mode=3)
    seen = Text(72, 600, "It is kept for eighty days at dawn.")
    (folder / "a.pdf").write_bytes(build_pdf(PdfFile([[hidden, seen]])))
    settings = ingest(tmp_path / "store", folder, options=ReadOptions(keeps_hidden=True))
    async with open_application(settings, wait_for_model=False) as opened:
        shown = await show(opened, document="a.pdf", quote="It is kept for ninety days")
    assert (shown.data["mark"], shown.warnings) == (
        "closest",
        (
            "the quote is in the text of this page, but the letters in its picture are others; marked is the "
            "closest text",
        ),
    )


async def test_a_source_that_is_a_single_file_is_shown(tmp_path: Path) -> None:
    path = write_files(tmp_path / "files") / "kilns.pdf"
    async with open_application(ingest(tmp_path / "store", path), wait_for_model=False) as opened:
        assert len((await show(opened, document="kilns.pdf", page=1)).images) == 1


async def test_a_key_for_another_project_shows_nothing_of_this_one(own: tuple[Application, Path]) -> None:
    application, path = own
    other = path.parent.with_name("others")
    other.mkdir()
    (other / "note.md").write_text("A note about nothing.\n", "utf-8")
    backends_of_other = ingest(application.settings.store, other, project="other")
    settings = backends_of_other.model_copy(update={"projects": ("p", "other")})
    keys = path.parent.with_name("keys")
    reader = make_client(keys, "reader", "other")
    async with (
        open_application(settings, wait_for_model=False) as opened,
        serve(
            build_server(Dispatcher(opened.context, settings), opened),
            access=HttpAccess(KeyRing(keys), ("p", "other")),
        ) as (host, port),
        httpx2.AsyncClient(headers=reader.headers) as http,
        Client(streamable_http_client(f"http://{host}:{port}{PATH}", http_client=http)) as client,
    ):
        by_name = Shown.of(await client.call_tool("kb_show", {"document": "kilns.pdf", "page": 1}))
        in_project = {"document": "kilns.pdf", "page": 1, "scope": {"project_id": "p"}}
        in_other = Shown.of(await client.call_tool("kb_show", in_project))
    assert (by_name.reason, in_other.reason) == ("NOT_FOUND", "SCOPE_VIOLATION")
    assert (by_name.images, in_other.images) == ((), ())
