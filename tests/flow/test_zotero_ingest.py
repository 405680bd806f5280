"""Libraries of Zotero in the index: what becomes a document, what a repeated run changes, what it keeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.pdf_files import PdfFile, Text, build_pdf
from winnow.server.bibliographies.locators import passage_fields
from winnow.server.bibliographies.records import Annotation, Creator, EntryFlaw, LibraryItem
from winnow.server.bibliographies.zotero.choice import ZoteroChoice
from winnow.server.bibliographies.zotero.records import ZoteroFile, ZoteroLibrary, ZoteroNote, ZoteroWork
from winnow.server.ingest.pipeline import IngestReport, Target
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.ingest.zotero import ingesting
from winnow.server.models import Document

OHM = LibraryItem(
    key="ITEMOHM1",
    citekey="ohm1827",
    item_type="article-journal",
    title="The galvanic circuit",
    creators=(Creator("Ohm", "Georg"),),
    year=1827,
    language="de",
    abstract="On resistance.",
    tags=("current",),
    collections=("Physics/Circuits",),
)
VOLTA = replace(OHM, key="ITEMVOL1", citekey="volta1800", title="On piles", tags=("pile",), collections=("Piles",))
PAGES = [[Text(72, 700, "The circuit of the current in 1827.")]] * 2
MARKS = (
    Annotation("MARKONE1", "current is proportional", "so that is it", 2, "#ffd400"),
    Annotation("MARKTWO2", comment="a comment alone", color="#ff6666"),
    Annotation("MARKINK3", page=1),
)


class Zotero:
    """The files of a library in a folder, and the records that doors would read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ohm = self.write("FILEOHM1", "ohm.pdf", build_pdf(PdfFile(PAGES)))
        self.volta = self.write("FILEVOL1", "piles.md", b"# Piles\n\nSilver and zinc give a current.\n")

    def write(self, key: str, name: str, data: bytes) -> Path:
        path = self.folder / "storage" / key / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def library(self, *works: ZoteroWork, id: str = "library", flaws: tuple[EntryFlaw, ...] = ()) -> ZoteroLibrary:
        return ZoteroLibrary(id, "My Library", 1, works or self.works(), flaws)

    def works(self) -> tuple[ZoteroWork, ...]:
        note = ZoteroNote("NOTEOHM1", "Thoughts", "<p>Thoughts</p><p>It is <b>linear</b>.</p>", ("idea",))
        ohm = ZoteroFile("FILEOHM1", "Full text", self.ohm, annotations=MARKS)
        volta = ZoteroFile("FILEVOL1", "piles.md", self.volta)
        return ZoteroWork(OHM, (ohm,), (note,)), ZoteroWork(VOLTA, (volta,))


def ingest_libraries(
    target: Target, libraries: list[ZoteroLibrary], choice: ZoteroChoice | None = None, **how: Any
) -> IngestReport:
    return ingesting.ingest_libraries(target, libraries, IngestRequest(zotero=choice or ZoteroChoice(), **how))


@pytest.fixture
def zotero(tmp_path: Path) -> Zotero:
    return Zotero(tmp_path / "data")


def documents(target: Target) -> dict[str, Document]:
    return {document.uri: document for document in target.catalogue.documents("p")}


def counts(report: IngestReport) -> tuple[int, int, int]:
    return report.documents, report.unchanged, report.deleted


def text(target: Target, uri: str) -> str | None:
    return target.catalogue.text(documents(target)[uri].id, "p")


def link(target: Target, uri: str) -> str:
    chunks = [chunk.id for chunk in target.catalogue.chunks(documents(target)[uri].id, "p")]
    passages = target.catalogue.passages(chunks[:1], "p").values()
    return next(passage_fields(passage)["link"] for passage in passages)


def test_files_notes_marks_and_works_without_a_file_are_documents_with_facts_and_links(
    target: Target, zotero: Zotero
) -> None:
    lost = ZoteroWork(
        replace(OHM, key="ITEMLOST", citekey="lost", title="Lost"),
        (ZoteroFile("FILELOST", "lost.pdf", None, "not downloaded"),),
    )
    report = ingest_libraries(target, [zotero.library(*zotero.works(), lost)])
    held = documents(target)
    links = {
        "zotero/FILEOHM1/ohm.pdf": "zotero://open-pdf/library/items/FILEOHM1?page=1",
        "zotero/NOTEOHM1/note": "zotero://select/library/items/NOTEOHM1",
        "zotero/FILEOHM1/annotations#MARKONE1": (
            "zotero://open-pdf/library/items/FILEOHM1?page=2&annotation=MARKONE1"
        ),
        "zotero/FILEOHM1/annotations#MARKTWO2": "zotero://open-pdf/library/items/FILEOHM1?annotation=MARKTWO2",
        "zotero/FILEVOL1/piles.md": "zotero://select/library/items/FILEVOL1",
        "zotero/ITEMLOST/item": "zotero://select/library/items/ITEMLOST",
    }
    assert {uri: link(target, uri) for uri in held} == links
    assert report.failures == ()
    assert report.warnings == ("zotero:library: 1 file was not read: not downloaded",)
    assert {document.source for document in held.values()} == {"zotero:library"}
    mark = held["zotero/FILEOHM1/annotations#MARKONE1"]
    assert (mark.title, mark.metadata["annotation_color"], mark.metadata["citekey"]) == (
        "The galvanic circuit",
        "#ffd400",
        "ohm1827",
    )
    assert text(target, "zotero/FILEOHM1/annotations#MARKONE1") == "current is proportional\n\nso that is it"
    assert (held["zotero/NOTEOHM1/note"].title, held["zotero/NOTEOHM1/note"].tags) == (
        "Thoughts",
        ("idea", "current"),
    )
    assert "linear" in str(text(target, "zotero/NOTEOHM1/note"))
    assert text(target, "zotero/ITEMLOST/item") == "On resistance."
    assert held["zotero/FILEOHM1/ohm.pdf"].language == "de"


def test_a_second_run_reads_and_writes_nothing(target: Target, zotero: Zotero) -> None:
    first = ingest_libraries(target, [zotero.library()])
    second = ingest_libraries(target, [zotero.library()])
    assert (counts(first), counts(second)) == ((5, 0, 0), (0, 5, 0))


def test_a_work_that_moves_to_another_collection_changes_facts_and_no_names_or_vectors(
    target: Target, zotero: Zotero
) -> None:
    ingest_libraries(target, [zotero.library()])
    before = documents(target)
    ohm, volta = zotero.works()
    moved = replace(volta, item=replace(volta.item, collections=("Batteries",)))
    report = ingest_libraries(target, [zotero.library(ohm, moved)])
    assert (counts(report), report.chunks) == ((1, 4, 0), 0)
    assert documents(target).keys() == before.keys()
    assert documents(target)["zotero/FILEVOL1/piles.md"].metadata["collections"] == ["Batteries"]


def test_what_left_the_library_leaves_the_index_and_a_changed_mark_changes_alone(
    target: Target, zotero: Zotero
) -> None:
    ingest_libraries(target, [zotero.library()])
    ohm, _ = zotero.works()
    file = replace(ohm.files[0], annotations=(replace(MARKS[0], comment="no"),))
    report = ingest_libraries(target, [zotero.library(replace(ohm, files=(file,), notes=()))])
    assert counts(report) == (1, 1, 3)
    assert sorted(documents(target)) == ["zotero/FILEOHM1/annotations#MARKONE1", "zotero/FILEOHM1/ohm.pdf"]


def test_libraries_do_not_touch_one_another_and_one_that_was_not_read_keeps_its_documents(
    target: Target, zotero: Zotero
) -> None:
    group = zotero.library(id="groups/12")
    ingest_libraries(target, [zotero.library(), group])
    assert len(documents(target)) == 10
    report = ingest_libraries(target, [zotero.library(zotero.works()[0])], ZoteroChoice(libraries=("library",)))
    assert counts(report) == (0, 4, 1)
    assert sum(uri.startswith("zotero/groups/12/") for uri in documents(target)) == 5
    kept = ingest_libraries(target, [group])
    assert (kept.deleted, len(documents(target))) == (0, 9)
    assert "zotero:library is not in Zotero any more" in kept.warnings[0]
    gone = ingest_libraries(target, [group], allow_deletions=True)
    assert (gone.deleted, len(documents(target))) == (4, 5)


def test_a_library_without_works_or_files_loses_nothing_until_that_is_allowed(
    target: Target, zotero: Zotero
) -> None:
    ingest_libraries(target, [zotero.library()])
    away = [replace(work, files=_away(work.files)) for work in zotero.works()]
    for library in (replace(zotero.library(), works=()), zotero.library(*away)):
        report = ingest_libraries(target, [library])
        assert (report.deleted, len(documents(target)) >= 5) == (0, True)
        assert f"run: winnow zotero ingest --allow-deletions --project {target.project}" in "".join(
            report.warnings
        )
    ingest_libraries(target, [zotero.library(*away)], allow_deletions=True)
    assert sorted(documents(target))[-2:] == ["zotero/ITEMVOL1/item", "zotero/NOTEOHM1/note"]


def _away(files: tuple[ZoteroFile, ...]) -> tuple[ZoteroFile, ...]:
    return tuple(replace(file, path=None, missing="not downloaded") for file in files)


def test_many_deletions_are_held_back(target: Target, zotero: Zotero) -> None:
    works = [ZoteroWork(replace(OHM, key=f"ITEM{number:04}", citekey=f"k{number}")) for number in range(60)]
    ingest_libraries(target, [zotero.library(*works)])
    report = ingest_libraries(target, [zotero.library(*works[:30])])
    assert (report.deleted, report.held, len(documents(target))) == (0, 30, 60)
    assert "30 of 60 documents are gone, and were kept" in report.warnings[0]
    report = ingest_libraries(target, [zotero.library(*works[:40])])
    assert (report.deleted, report.held) == (20, 0)


def test_a_collection_brings_in_line_what_is_in_it_and_leaves_the_rest(target: Target, zotero: Zotero) -> None:
    physics, piles = ZoteroChoice(collections=("physics",)), ZoteroChoice(tags=("Pile",))
    ingest_libraries(target, [zotero.library()], physics)
    assert {document.metadata["citekey"] for document in documents(target).values()} == {"ohm1827"}
    ingest_libraries(target, [zotero.library()], piles)
    assert len(documents(target)) == 5
    ohm, volta = zotero.works()
    moved = replace(ohm, item=replace(ohm.item, collections=("Elsewhere",)))
    other = ZoteroWork(replace(OHM, key="ITEMNEW1", citekey="new", collections=("Physics",)))
    report = ingest_libraries(target, [zotero.library(moved, volta, other)], physics)
    assert report.deleted == 4
    assert {document.metadata["citekey"] for document in documents(target).values()} == {"new", "volta1800"}


def test_a_work_whose_file_cannot_be_read_is_found_by_its_abstract_until_the_file_can_be_read(
    target: Target, zotero: Zotero
) -> None:
    zotero.ohm.write_bytes(b"%PDF-1.4\nbroken")
    report = ingest_libraries(target, [zotero.library(*zotero.works()[:1])])
    assert [failure.name for failure in report.failures] == ["zotero/FILEOHM1/ohm.pdf"]
    assert "zotero/ITEMOHM1/item" in documents(target)
    zotero.ohm.write_bytes(build_pdf(PdfFile(PAGES)))
    ingest_libraries(target, [zotero.library(*zotero.works()[:1])])
    assert "zotero/ITEMOHM1/item" not in documents(target)
    assert "zotero/FILEOHM1/ohm.pdf" in documents(target)


def test_what_could_not_be_read_of_a_library_keeps_its_documents_and_is_named(
    target: Target, zotero: Zotero
) -> None:
    ingest_libraries(target, [zotero.library()])
    ohm, volta = zotero.works()
    flaws = (EntryFlaw(0, "NOTEOHM1", "its fields are no object"), EntryFlaw(0, "ITEMVOL1", "cited as volt2"))
    report = ingest_libraries(target, [zotero.library(replace(ohm, notes=()), volta, flaws=flaws)])
    assert (report.deleted, len(documents(target))) == (0, 5)
    (failure,) = report.failures
    assert (failure.name, failure.reason.partition(";")[0]) == ("zotero/NOTEOHM1", "its fields are no object")
    assert report.warnings == ("zotero:library: ITEMVOL1: cited as volt2",)


def test_a_link_in_place_of_a_file_is_not_followed(target: Target, zotero: Zotero, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n\na private word\n", "utf-8")
    zotero.volta.unlink()
    zotero.volta.symlink_to(secret)
    report = ingest_libraries(target, [zotero.library(*zotero.works()[1:])])
    assert [failure.name for failure in report.failures] == ["zotero/FILEVOL1/piles.md"]
    assert "private" not in "".join(str(text(target, uri)) for uri in documents(target))


def test_linked_files_are_read_only_below_the_folders_that_are_named(
    target: Target, zotero: Zotero, tmp_path: Path
) -> None:
    linked = [
        replace(work, files=tuple(replace(file, is_linked=True) for file in work.files), notes=())
        for work in zotero.works()
    ]
    below: dict[str, Any] = {"linked_below": (zotero.ohm.parent,)}
    report = ingest_libraries(target, [zotero.library(*linked)], **below)
    assert "zotero/FILEOHM1/ohm.pdf" in documents(target)
    assert "zotero/FILEVOL1/piles.md" not in documents(target)
    assert "linked files outside the folders" in report.warnings[0]
