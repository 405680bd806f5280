"""A question answered from a PDF over MCP: the quote, its page and a link, held against that page of the file."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urldefrag

import pypdfium2
import pytest
from typer.testing import CliRunner

from tests.pdf_files import PdfFile, build_pdf, paragraph
from winnow.server.commands.demonstration.client import connect_server
from winnow.server.commands.ingest import app as ingest

pytestmark = pytest.mark.anyio

METALS = ("copper", "zinc", "nickel", "silver", "cobalt")


def _write_pdf(path: Path) -> None:
    """A page for each metal, with a sentence that answers and others that do not."""
    pages = [
        paragraph(
            72,
            760,
            [
                f"The furnace number {page} melts {metal}.",
                f"The kiln for {metal} is kept at {600 + 37 * page} degrees.",
                "Nobody enters the hall while it is lit.",
            ],
        )
        for page, metal in enumerate(METALS, 1)
    ]
    path.write_bytes(build_pdf(PdfFile(pages)))


def _page_text(path: Path, page: int) -> str:
    document = pypdfium2.PdfDocument(path)
    try:
        return " ".join(document[page - 1].get_textpage().get_text_bounded().split())
    finally:
        document.close()


@pytest.mark.parametrize("metal", METALS)
async def test_a_quote_from_a_pdf_stands_on_the_page_that_its_link_names(tmp_path: Path, metal: str) -> None:
    files, store = tmp_path / "files", tmp_path / "store"
    files.mkdir()
    _write_pdf(files / "kilns.pdf")
    done = CliRunner().invoke(ingest, [str(files), "--store", str(store), "--allow-weaker-reader"])
    assert done.exit_code == 0
    async with connect_server(store, "default", tmp_path / "log") as client:
        question = f"At how many degrees is the kiln for {metal} kept?"
        answer = (await client.call_tool("kb_retrieve_evidence", {"question": question})).structured_content
    assert answer
    quote = answer["quotes"][0]
    page = METALS.index(metal) + 1
    name, fragment = urldefrag(quote["link"])
    assert (name, fragment, quote["page_span"]) == ("kilns.pdf", f"page={page}", [page, page])
    sentence = f"The kiln for {metal} is kept at {600 + 37 * page} degrees."
    assert sentence in " ".join(quote["quote"].split())
    assert sentence in _page_text(files / name, int(fragment.removeprefix("page=")))
