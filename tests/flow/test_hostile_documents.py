"""Hostile files of formats beside good ones: the good ones are indexed, each bad one is named with a reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.office_files import docx, paragraph
from tests.pdf_files import PdfFile, Text, build_pdf
from winnow.server.backends.catalogue import Catalogue
from winnow.server.storage.files.store_folder import CATALOGUE

pytestmark = [pytest.mark.walls, pytest.mark.slow]

_SHARED = Path(__file__).parents[3] / "shared" / "data" / "documents"
# The peak is read from the kernel; that of the children includes every process below them.
_MEASURED = """
import resource
from winnow.server.commands.entry.cli import main
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def _pdf_with(content: bytes, filters: str, more: bytes = b"") -> bytes:
    """A PDF of one page with this content stream."""
    stream = b"4 0 obj<</Length %d/Filter[%s]>>stream\n%s\nendstream endobj\n"
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<<>>>>endobj\n"
        + stream % (len(content), filters.encode(), content)
        + more
        + b"trailer<</Root 1 0 R>>\n%%EOF"
    )


def _flate_bomb() -> bytes:
    """Four GiB of blanks in a few kB: compressed twice. Made of one part that is compressed once, and repeated."""
    part, times = b" " * (1 << 24), 256
    once = zlib.compressobj(9)
    head, again = (once.compress(part) + once.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    size = len(part) * times
    sums = (1 + size * part[0], size + part[0] * size * (size + 1) // 2)  # Adler-32 of equal bytes
    checksum = (sums[1] % 65_521 << 16 | sums[0] % 65_521).to_bytes(4, "big")
    inner = head + again * (times - 1) + b"\x03\x00" + checksum  # an empty last block
    return _pdf_with(zlib.compress(inner, 9), "/FlateDecode/FlateDecode")


def _good_pdf(word: str) -> bytes:
    return build_pdf(PdfFile(pages=[[Text(72, 700, f"The {word} neighbour stays.")]]))


# File -> its content, and a part of the reason why it is not read.
_HOSTILE: Mapping[str, tuple[bytes, str]] = {
    "bomb.pdf": (_flate_bomb(), ""),
    "empty.pdf": (b"", "empty"),
    "page.pdf": (b"<html><p>Not a PDF.</p></html>", "not a PDF"),
    "cut.pdf": (_good_pdf("cut")[:200], ""),
    "head.pdf": (b"%PDF-1.7\n" + b"[" * 100_000, ""),
    "tree.pdf": (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[2 0 R]/Count 9>>endobj\n"
        b"trailer<</Root 1 0 R>>\n%%EOF",
        "",
    ),
    "page.docx": (b"PK\x03\x04 and nothing more", ""),
    "text.docx": (b"A letter.", "not an archive, as such files are"),
    "old.docx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "an old office document"),
}


def _ingest(folder: Path, store: Path, *flags: str) -> tuple[dict[str, Any], int]:
    """The report of an ingest of the folder, and the peak memory of its children in KiB."""
    arguments = ("ingest", str(folder), "--store", str(store), "--project", "p", "--json", *flags)
    environment = {**os.environ, "WINNOW_EMBEDDING": "off", "WINNOW_DAEMON": "off"}
    ran = subprocess.run([sys.executable, "-c", _MEASURED, *arguments], capture_output=True, env=environment)
    assert ran.returncode == 0, ran.stderr.decode()
    *report, peak = ran.stdout.decode().splitlines()
    return json.loads("\n".join(report)), int(peak)


def _indexed(store: Path) -> set[str]:
    with closing(Catalogue(store / CATALOGUE)) as catalogue:
        return {document.uri for document in catalogue.documents("p")}


def test_each_hostile_file_is_named_and_the_good_ones_beside_it_are_indexed(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a_good.pdf").write_bytes(_good_pdf("first"))
    (folder / "z_good.docx").write_bytes(docx(paragraph("The last neighbour stays.")).getvalue())
    for name, (content, _) in _HOSTILE.items():
        (folder / name).write_bytes(content)
    report, peak_kib = _ingest(folder, tmp_path / "store")
    reasons = {failure["name"]: failure["reason"] for failure in report["failures"]}
    assert reasons.keys() == _HOSTILE.keys()
    assert [name for name, (_, part) in _HOSTILE.items() if part not in reasons[name] or not reasons[name]] == []
    assert _indexed(tmp_path / "store") == {"a_good.pdf", "z_good.docx"}
    assert peak_kib < 1024 * 1024


def test_an_encrypted_file_is_read_with_its_password(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    page = [Text(72, 700, "Behind a password.")]
    (folder / "locked.pdf").write_bytes(build_pdf(PdfFile(pages=[page], password="sesame")))
    (tmp_path / "passwords").write_text("wrong\nsesame\n")
    refused, _ = _ingest_or_fail(folder, tmp_path / "store")
    assert [failure["name"] for failure in refused["failures"]] == ["locked.pdf"]
    assert "--password-file" in refused["failures"][0]["reason"]
    opened, _ = _ingest(folder, tmp_path / "store", "--password-file", str(tmp_path / "passwords"))
    assert (opened["documents"], opened["failures"]) == (1, [])


def _ingest_or_fail(folder: Path, store: Path) -> tuple[dict[str, Any], int]:
    """As `_ingest`, with a neighbour, so that something is read."""
    (folder / "a.md").write_text("A neighbour.\n")
    return _ingest(folder, store)


def test_hidden_text_is_kept_on_demand_and_the_choice_is_part_of_the_stamp(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    page = [Text(72, 700, "Everybody sees this."), Text(72, 600, "Nobody sees that.", color=(1, 1, 1))]
    (folder / "both.pdf").write_bytes(build_pdf(PdfFile(pages=[page])))
    texts = []
    for flags in ((), ("--hidden", "keep"), ("--hidden", "keep"), ()):
        report, _ = _ingest(folder, tmp_path / "store", *flags)
        with closing(Catalogue(tmp_path / "store" / CATALOGUE)) as catalogue:
            (document,) = catalogue.documents("p")
            text = catalogue.text(document.id, "p") or ""
        texts.append((report["documents"], "Nobody sees that" in text))
    assert texts == [(1, False), (1, True), (0, True), (1, False)]


@pytest.mark.skipif(not (_SHARED / "hostile").is_dir(), reason="the collection of hostile files is not here")
def test_a_collection_of_hostile_files_leaves_two_good_ones_indexed(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    hostile = sorted((_SHARED / "hostile").iterdir())
    for path in (*hostile, _SHARED / "typeset" / "one_col.pdf", _SHARED / "typeset" / "two_col.pdf"):
        (folder / path.name).write_bytes(path.read_bytes())
    report, peak_kib = _ingest(folder, tmp_path / "store")
    failed = {failure["name"] for failure in report["failures"] if failure["reason"]}
    indexed = _indexed(tmp_path / "store")
    assert {"one_col.pdf", "two_col.pdf"} <= indexed
    assert failed | indexed == {path.name for path in folder.iterdir()}
    assert failed & indexed == set()
    assert peak_kib < 1024 * 1024
