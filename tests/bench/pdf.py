"""PDF: how fast it is read, and what is lost, against papers whose text is known.

    python -m tests.bench.pdf typeset/ --real pdfs/ --json pdf.json

``typeset/`` has papers with their truth (see ``tests.bench.pdf_truth``), ``hidden.pdf`` and ``scan.pdf``. The
speed is that of all PDF files below ``--real``, else of the papers: pages a second of one core, reading alone.
The papers are also ingested, and the pages of 200 sentences compared with those in rows of the index.
``--peers PYTHON`` reads the papers with other programs as well.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer
from rich.table import Table

from tests.bench.command_line import command_line
from tests.bench.pdf_index import measure_index
from tests.bench.pdf_peers import READERS as PEERS
from tests.bench.pdf_peers import read_all
from tests.bench.pdf_truth import (
    MARKED,
    Paper,
    page_texts,
    papers,
    part_of,
    read_with,
    recall,
    score_paper,
    score_text,
)
from winnow.server.commands.terminal.output import report_errors
from winnow.server.commands.terminal.screen import Screen
from winnow.server.errors import WinnowError
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats import pdf_liteparse, pdf_pdfium
from winnow.server.readers.formats.parsed_file import FormatReader, NotForThisReader, ReadOptions

EXAMPLES = (
    "Examples: python -m tests.bench.pdf typeset/ | "
    "python -m tests.bench.pdf typeset/ --real /usr/share/doc --most-pages 1000 | "
    "python -m tests.bench.pdf typeset/ --ocr --peers ~/peers/bin/python --json pdf.json"
)
READERS: Mapping[str, FormatReader] = MappingProxyType(
    {"liteparse": pdf_liteparse.read, "pdfium": pdf_pdfium.read}
)
_SENTENCES = 200


def run(
    typeset: Annotated[Path, typer.Argument(help="papers with their truth, hidden.pdf and scan.pdf")],
    real: Annotated[
        Path | None, typer.Option("--real", metavar="DIR", help="PDF files to measure the speed on")
    ] = None,
    most_pages: Annotated[int, typer.Option("--most-pages", min=1, help="pages to measure the speed on")] = 3_000,
    ocr: Annotated[bool, typer.Option("--ocr", help="read scan.pdf by OCR: half a minute a page")] = False,
    peers: Annotated[
        list[str] | None, typer.Option("--peers", metavar="PYTHON", help="an interpreter that has one")
    ] = None,
    as_json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write the figures there")] = None,
) -> None:
    """Words, order, headings, tables and pages of papers whose text is known; pages a second."""
    with report_errors(as_json=False):
        known = papers(typeset)
        if not known:
            raise WinnowError(
                "NOT_FOUND", f"no NAME.pdf with NAME.json in {typeset}; give the folder of the papers"
            )
        figures = {name: measure_reader(reader, typeset, known) for name, reader in READERS.items()}
        speeds = {
            name: measure_speed(reader, _files(real or typeset), most_pages) for name, reader in READERS.items()
        }
        result = {
            "readers": figures,
            "index": asyncio.run(measure_index(known, _SENTENCES)),
            "speed": speeds,
            "ocr": measure_ocr(typeset) if ocr else {"missing": "give --ocr"},
            "peers": {name: measure_peer(python, name, known) for python in peers or () for name in PEERS},
        }
    if as_json:
        as_json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    _show(result)


def measure_reader(reader: FormatReader, typeset: Path, known: Iterable[Paper]) -> dict[str, Any]:
    """The figures of each paper, and what of ``hidden.pdf`` came through."""
    read = read_with(reader)
    scored = {paper.name: score_paper(paper, read(paper.path, ReadOptions()), _SENTENCES) for paper in known}
    return scored | {"hidden": measure_hidden(reader, typeset)}


def measure_hidden(reader: FormatReader, typeset: Path) -> dict[str, Any]:
    """Which of the marked strings are in the text by default, and on demand, and how many runs were counted."""
    read = read_with(reader)
    path = typeset / "hidden.pdf"
    if not path.exists():
        return {"missing": "no hidden.pdf"}
    dropped, kept = read(path, ReadOptions()), read(path, ReadOptions(keeps_hidden=True))
    return {
        "in_text": [mark for mark in MARKED if mark in dropped.text],
        "kept": [mark for mark in MARKED if mark in kept.text],
        "counted": dropped.reading.hidden_runs,
    }


def measure_speed(reader: FormatReader, paths: Iterable[Path], most_pages: int) -> dict[str, Any]:
    """Files, pages, and pages a second of processor time; and which files were not read."""
    pages = files = 0
    seconds, failed = 0.0, []
    for path in paths:
        if pages >= most_pages:
            break
        began = time.process_time()
        try:
            with path.open("rb") as file:
                pages += reader(file, ReadOptions()).reading.pages
            files += 1
        except (UnreadableFile, NotForThisReader) as error:
            failed.append(f"{path.name}: {error}")
        seconds += time.process_time() - began
    return {"files": files, "pages": pages, "pages_per_s": round(pages / max(seconds, 1e-9), 1), "failed": failed}


def measure_ocr(typeset: Path) -> dict[str, Any]:
    """The share of the words of each page of a scan: those of the first pages of ``two_col.pdf``."""
    if find_spec("rapidocr") is None:
        return {"missing": "pip install 'winnow-mcp[ocr]'"}
    began = time.process_time()
    parsed = read_with(pdf_liteparse.read)(typeset / "scan.pdf", ReadOptions(uses_ocr=True))
    seconds = time.process_time() - began
    truth = page_texts(typeset / "two_col.pdf")[: parsed.reading.pages]
    shares = [recall([text.replace("\ufffe\r\n", "").replace("\ufffe", "")], [part_of(parsed, number)])
              for number, text in enumerate(truth, 1)]  # fmt: skip
    return {"pages": parsed.reading.ocr_pages, "words": shares, "processor_s": round(seconds, 1)}


def measure_peer(python: str, name: str, known: Iterable[Paper]) -> dict[str, Any]:
    """The same papers, read by another program."""
    known = list(known)
    found = read_all(python, name, [paper.path for paper in known])
    if "missing" in found:
        return found
    pages = sum(len(page_texts(paper.path)) for paper in known)
    scored = {paper.name: score_text(paper, found["texts"][str(paper.path)]) for paper in known}
    speeds = {key: round(pages / found[key], 2) for key in ("seconds", "processor_s")}
    return {
        "version": found["version"],
        "pages_per_s": speeds["processor_s"],
        "pages_per_wall_s": speeds["seconds"],
    } | scored


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.pdf") if path.is_file())


def _show(result: Mapping[str, Any]) -> None:
    screen = Screen()
    table = Table("reader", "paper", "words", "order", "heads", "rows", "tables", "running heads", "pages right")
    for reader, figures in (result["readers"] | result["peers"]).items():
        for name, row in figures.items():
            if isinstance(row, dict) and "words" in row:
                counts = ("/".join(map(str, row.get(key, ("-",)))) for key in ("heads", "rows", "tables"))
                pages = "/".join(map(str, row.get("pages", ("-",))))
                table.add_row(
                    reader, name, str(row["words"]), str(row["order"]), *counts, str(row["running_heads"]), pages
                )
    screen.print(table)
    pages = ", ".join(f"{name} {right}/{asked}" for name, (right, asked) in result["index"].items())
    screen.print(f"pages right in rows of an index: {pages}")
    for key in ("speed", "ocr", "peers"):
        screen.print(
            key, {name: row for name, row in result[key].items() if not isinstance(row, dict) or key == "speed"}
        )


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app()
