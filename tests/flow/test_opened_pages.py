"""``winnow open``: a citation in every form leads to its page, its picture or its lines."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.page_pixels import Pixels
from tests.pdf_files import PdfFile, build_pdf, paragraph
from winnow.server.commands.corpus.open_page import app as open_page
from winnow.server.commands.ingest import app as ingest

KILN = "The kiln is kept at ninety degrees."
LIBRARY = "@book{ohm1827, title = {On Kilns}, author = {Ohm, Georg}, year = {1827}, file = {kilns.pdf}}\n"
SETTINGS = {"WINNOW_EMBEDDING": "off", "WINNOW_DAEMON": "off"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PDF with printed pages from ii on, which a bibliography has, and a text; ingested into ``store``."""
    folder = tmp_path_factory.mktemp("opened")
    files = folder / "files"
    files.mkdir()
    pages = [paragraph(72, 760, [f"Page {number}.", "Nobody enters."]) for number in (1, 2, 3)]
    pages[1] += paragraph(72, 700, [KILN])
    (files / "kilns.pdf").write_bytes(build_pdf(PdfFile(pages, labels="0 << /S /r /St 2 >>")))
    (files / "rules.md").write_text("# Rules\n\nIt is kept for a year.\n", "utf-8")
    (folder / "library.bib").write_text(LIBRARY, "utf-8")
    arguments = [str(files), "--references", str(folder / "library.bib"), "--allow-weaker-reader"]
    done = CliRunner().invoke(ingest, [*arguments, "--store", str(folder / "store")], env=SETTINGS)
    assert done.exit_code == 0, done.output
    return folder


def run(folder: Path, *arguments: str, **environment: str) -> tuple[int, str, str]:
    settings = {**SETTINGS, "WINNOW_ALLOW_WEAKER_READER": "on", **environment}
    done = CliRunner().invoke(open_page, [*arguments, "--store", str(folder / "store")], env=settings)
    return done.exit_code, done.stdout, done.stderr


def answer(folder: Path, *arguments: str) -> dict[str, Any]:
    code, out, err = run(folder, *arguments, "--json")
    assert code == 0, out + err
    payload: dict[str, Any] = json.loads(out)
    return payload


@pytest.mark.parametrize(
    "citation",
    [
        ("kilns.pdf", "--page", "2"),
        ("kilns.pdf", "--page", "p. iii"),
        ("kilns.pdf", "--quote", KILN),
        ("kilns.pdf#page=2",),
        ("kilns.pdf, p. iii (file page 2)",),
        ("[@ohm1827, kilns.pdf, p. iii (file page 2)]",),
        ("[@ohm1827, p. iii]",),
        ("[kilns.pdf, p. iii (file page 2)]",),
        ("@ohm1827", "--page", "2"),
    ],
    ids=" ".join,
)
def test_a_citation_in_every_form_leads_to_its_page(folder: Path, citation: tuple[str, ...]) -> None:
    shown = answer(folder, *citation)
    assert (shown["file"], shown["page_span"], shown["citekey"]) == ("kilns.pdf", [2, 2], "ohm1827")
    assert shown["url"] == (folder / "files" / "kilns.pdf").as_uri() + "#page=2"


def test_the_picture_is_written_to_the_named_file(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.png"
    shown = answer(folder, "kilns.pdf", "--quote", KILN, "--png", str(path))
    pixels = Pixels.of(path.read_bytes())
    assert (shown["image"]["width"], shown["image"]["height"]) == (pixels.width, pixels.height)
    assert (shown["png"], shown["mark"]) == (str(path), "exact")


def test_a_text_is_printed_with_its_lines_and_the_mark(folder: Path) -> None:
    code, out, _ = run(folder, "rules.md", "--quote", "kept for a year")
    assert code == 0
    assert " >      3  It is \u27e6kept for a year\u27e7." in out.splitlines()


def test_the_page_is_opened_by_the_program_of_the_system(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address of the file at its page, or with ``--png`` that of the picture."""
    opener = tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >> {tmp_path}/opened\n')
    opener.chmod(opener.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert run(folder, "kilns.pdf", "--page", "2", "--launch")[0] == 0
    assert run(folder, "kilns.pdf", "--page", "2", "--launch", "--png", str(tmp_path / "a.png"))[0] == 0
    assert (tmp_path / "opened").read_text().splitlines() == [
        (folder / "files" / "kilns.pdf").as_uri() + "#page=2",
        (tmp_path / "a.png").as_uri(),
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("absent.pdf",), 2, "document: none that this call reaches has the id, path or title 'absent.pdf'"),
        (("/etc/passwd",), 2, "document: none that this call reaches"),
        (("@nobody1900",), 2, "no document has the citekey 'nobody1900'"),
        (("kilns.pdf", "--page", "9"), 2, "page: there is no file page 9 with text"),
        (("kilns.pdf", "--page", "0"), 2, "page: give a number from 1 on"),
        (("rules.md", "--png", "page.png"), 2, "--png: rules.md is no PDF, so that no page of it is drawn"),
        (
            ("kilns.pdf", "--page", "1", "--png", "/absent/page.png"),
            2,
            "--png: /absent/page.png cannot be written",
        ),
    ],
)
def test_what_cannot_be_opened_is_refused(
    folder: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    found, _, err = run(folder, *arguments)
    assert (found, message in err) == (code, True), err
