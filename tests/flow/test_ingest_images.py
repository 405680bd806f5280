"""Images are read where OCR is used; other ingests skip them, say so, and keep what was read of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.image_program import SIGNATURE
from tests.ingesting import ingest_paths
from winnow.server.commands.ingest import app
from winnow.server.ingest.children import walled_children
from winnow.server.ingest.file_discovery import Root
from winnow.server.ingest.pipeline import IngestReport, Target, ingest_parts
from winnow.server.ingest.selection.file_rules import ALL_FILES
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.jobs.watching.scans import list_parts
from winnow.server.readers.common import ocr_package
from winnow.server.readers.formats.parsed_file import ReadOptions

OCR = ReadOptions(uses_ocr=True)

NEEDS_OCR = f"an image; {ocr_package.advise('to read it by OCR: --ocr')}"


def write_image(path: Path, text: str) -> Path:
    path.write_bytes(SIGNATURE + text.encode())
    return path


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Proxy\n\nThe proxy forwards traffic.\n")
    write_image(folder / "b.PNG", "The invoice of March.")
    write_image(folder / "c.jpeg", "The plan of the house.")
    return folder


def texts(target: Target) -> dict[str, str]:
    documents = target.catalogue.documents("p")
    stored = {document.uri: target.catalogue.text(document.id, "p") for document in documents}
    return {uri: text for uri, text in stored.items() if text}


def figures(report: IngestReport) -> tuple[int, int, int, int, int]:
    counted = (report.documents, report.unchanged, report.deleted, report.images_skipped, report.images_blank)
    assert (report.failures, report.skipped) == ((), 0)
    return counted


def test_an_ingest_without_ocr_skips_images_and_says_how_to_read_them(docs: Path, tmp_path: Path) -> None:
    place = ["--store", str(tmp_path / "store")]
    shown = CliRunner().invoke(app, [str(docs), *place])
    assert (shown.exit_code, "2 images were skipped; --ocr reads them" in shown.output) == (0, True)
    report = json.loads(CliRunner().invoke(app, [str(docs), *place, "--json"]).stdout)
    assert (report["images_skipped"], report["images_blank"], report["skipped"], report["failures"]) == (
        2,
        0,
        0,
        [],
    )


def test_an_ingest_of_images_alone_without_ocr_has_read_nothing(docs: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [str(docs / "b.PNG"), "--store", str(tmp_path / "s")])
    assert (done.exit_code, "1 image was skipped; --ocr reads it" in done.output) == (1, True)


def test_an_explanation_of_an_image_says_that_it_needs_ocr(docs: Path) -> None:
    done = CliRunner().invoke(app, ["--explain", str(docs / "b.PNG"), "--json"])
    told = json.loads(done.stdout)
    assert (done.exit_code, told["type"], told["flaws"]) == (
        1,
        "image",
        [NEEDS_OCR],
    )


@pytest.mark.walls
class TestWithOcr:
    """With children that read images as OCR would."""

    @pytest.fixture(autouse=True)
    def program(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(walled_children, "MODULE", "tests.image_program")

    def test_images_are_read_with_ocr_and_kept_without(self, target: Target, docs: Path) -> None:
        assert figures(ingest_paths(target, [docs])) == (1, 0, 0, 2, 0)
        assert figures(ingest_paths(target, [docs], options=OCR)) == (2, 1, 0, 0, 0)
        assert figures(ingest_paths(target, [docs])) == (0, 3, 0, 0, 0)
        assert figures(ingest_paths(target, [docs], options=ReadOptions(True, (), True))) == (0, 3, 0, 0, 0)
        assert {uri: text for uri, text in texts(target).items() if uri != "a.md"} == {
            "b.PNG": "The invoice of March.",
            "c.jpeg": "The plan of the house.",
        }
        assert {document.type for document in target.catalogue.documents("p")} == {"markdown", "image"}

    def test_an_image_that_changed_keeps_its_text_until_it_is_read_again(self, target: Target, docs: Path) -> None:
        ingest_paths(target, [docs], options=OCR)
        os.utime(write_image(docs / "b.PNG", "The invoice of April."), (5, 5))
        assert figures(ingest_paths(target, [docs])) == (0, 2, 0, 1, 0)
        assert texts(target)["b.PNG"] == "The invoice of March."
        assert figures(ingest_paths(target, [docs], options=OCR)) == (1, 2, 0, 0, 0)
        assert texts(target)["b.PNG"] == "The invoice of April."

    def test_an_image_that_is_gone_leaves_the_index(self, target: Target, docs: Path) -> None:
        ingest_paths(target, [docs], options=OCR)
        (docs / "b.PNG").unlink()
        assert figures(ingest_paths(target, [docs])) == (0, 2, 1, 0, 0)

    def test_an_image_without_text_is_counted_and_not_read_again(self, target: Target, docs: Path) -> None:
        write_image(docs / "photo.webp", " \n")
        assert figures(ingest_paths(target, [docs], options=OCR)) == (3, 0, 0, 0, 1)
        assert figures(ingest_paths(target, [docs], options=OCR)) == (0, 3, 0, 0, 0)
        os.utime(write_image(docs / "b.PNG", ""), (5, 5))
        assert figures(ingest_paths(target, [docs], options=OCR)) == (0, 2, 1, 0, 1)

    def test_a_watched_folder_without_ocr_keeps_what_was_read(self, target: Target, docs: Path) -> None:
        ingest_paths(target, [docs], options=OCR)
        os.utime(write_image(docs / "b.PNG", "The invoice of April."), (5, 5))
        parts = list_parts(str(docs), ["b.PNG", "c.jpeg"], ALL_FILES)
        assert [part.root for part in parts] == [Root(str(docs), "b.PNG"), Root(str(docs), "c.jpeg")]
        assert figures(ingest_parts(target, parts, IngestRequest())) == (0, 1, 0, 1, 0)
        assert sorted(texts(target)) == ["a.md", "b.PNG", "c.jpeg"]
