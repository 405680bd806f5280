"""A killed ingest loses nothing that it reported, and the next run ends where an uninterrupted one would have."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.models.installed.table import DEFAULT
from winnow.server.backends.opening import catalogue_path, open_backends
from winnow.server.backends.vectors.edge import EdgeStore
from winnow.server.ids import chunk_of_point
from winnow.server.settings.loading import load_settings

PAGES = 60
FEWER = 24  # of four passages each: twelve of the batches of eight that the killed ingests write
WINNOW = [sys.executable, "-c", "import winnow.server.commands.entry.cli; winnow.server.commands.entry.cli.main()"]
# An ingest in small batches that prints a line for each committed batch.
TELLING = """
import sys
from pathlib import Path
from winnow.server.backends.opening import open_backends
from winnow.server.ingest import pipeline
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.settings.loading import load_settings

pipeline._BATCH_CHUNKS = 8
backends = open_backends(load_settings(store=sys.argv[1], project="p"), wait_for_model=True)
target = pipeline.Target("p", backends.catalogue, backends.store, backends.embedder.ready())
pipeline.ingest_files(
    target,
    IngestRequest(paths=(Path(sys.argv[2]),)),
    lambda done: done.documents and print(done.documents, flush=True),
)
"""


def write_pages(folder: Path, pages: int = PAGES) -> Path:
    folder.mkdir()
    for page in range(pages):
        sections = "\n\n".join(
            f"## Rule {n}\n\n" + f"Rule {n} of page {page} is about case {n * page}. " * 12 for n in range(4)
        )
        (folder / f"page{page:02}.md").write_text(f"# Page {page}\n\n{sections}\n", encoding="utf-8")
    return folder


def ingest(store: Path, folder: Path) -> dict[str, Any]:
    command = [*WINNOW, "ingest", str(folder), "--store", str(store), "--project", "p", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def index(store: Path) -> tuple[list[Any], dict[str, Any]]:
    """The whole content of an index, except counters."""
    catalogue, vectors = Catalogue(catalogue_path(load_settings(store=store))), EdgeStore(store, DEFAULT.dimension)
    try:
        rows = [
            (document, catalogue.text(document.id, "p"), catalogue.chunks(document.id, "p"))
            for document in catalogue.documents("p")
        ]
        points = vectors._shard.retrieve([int(id, 32) for id in vectors.ids("p")], True, True)
        return rows, {chunk_of_point(int(str(one.id))): _point(one) for one in points}
    finally:
        catalogue.close()
        vectors.close()


def _point(record: Any) -> tuple[Any, ...]:
    lexical = record.vector["lexical"]
    return record.vector["dense"], lexical.indices, lexical.values, record.payload


def killed_after(store: Path, folder: Path, batches: int) -> int:
    """Run an ingest, kill it once it has reported so many batches, and return how many documents it reported."""
    with subprocess.Popen(
        [sys.executable, "-c", TELLING, str(store), str(folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        reported = [int(process.stdout.readline()) for _ in range(batches)][-1]
        os.kill(process.pid, signal.SIGKILL)
    return reported


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_again_and_again_an_ingest_ends_at_the_same_index(tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "pages", FEWER)
    ingest(tmp_path / "whole", folder)
    for batches in (1, 3, 2):
        reported = killed_after(tmp_path / "torn", folder, batches)
        catalogue = Catalogue(catalogue_path(load_settings(store=tmp_path / "torn")))
        kept = len(catalogue.documents("p"))
        catalogue.close()
        assert kept >= reported > 0
    last = ingest(tmp_path / "torn", folder)
    assert (last["documents"] + last["unchanged"], last["failures"]) == (FEWER, [])
    assert last["unchanged"] > 0
    whole, torn = index(tmp_path / "whole"), index(tmp_path / "torn")
    assert torn[0] == whole[0]
    assert torn[1] == whole[1]


@pytest.mark.slow
def test_points_that_nobody_knows_and_points_that_are_missing_are_put_right(tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "pages", FEWER)
    ingest(tmp_path / "store", folder)
    expected = index(tmp_path / "store")
    backends = open_backends(load_settings(store=tmp_path / "store", project="p"), wait_for_model=False)
    backends.catalogue.begin_write("p")
    some = list(backends.store.ids("p"))[:5]
    backends.store.delete(some)
    backends.close()
    report = ingest(tmp_path / "store", folder)
    assert (report["documents"], report["unchanged"]) == (0, FEWER)
    assert index(tmp_path / "store") == expected


@pytest.mark.slow
def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    folder = write_pages(tmp_path / "pages")
    command = [*WINNOW, "ingest", str(folder), "--store", str(tmp_path / "store"), "--project", "p"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        catalogue = tmp_path / "store" / "catalogue.sqlite3"
        while process.poll() is None and not _has_documents(catalogue):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert process.returncode in (0, 130)  # 0: it was done before the signal came
    assert "Traceback" not in told
    assert ingest(tmp_path / "store", folder)["unchanged"] > 0


def _has_documents(path: Path) -> bool:
    if not path.exists():
        return False
    catalogue = Catalogue(path)
    try:
        return bool(catalogue.projects())
    finally:
        catalogue.close()
