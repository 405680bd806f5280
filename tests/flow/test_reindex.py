"""A store with another model: refused until a reindex, which builds a second index while the first one answers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.plain_store import copy_store
from tests.tiny_models import TABLE, write_model
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.commands.ingest import app as ingest_app
from winnow.server.commands.reindex import app as reindex_app
from winnow.server.models import Filters, Ranking
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

PAGES = 24
# A reindex in small batches that prints a line for each committed batch, and then waits to be killed.
TELLING = """
import sys
from contextlib import contextmanager
from winnow.server.commands import reindex
from winnow.server.ingest import reindexing
from winnow.server.settings.loading import load_settings

reindexing._BATCH_CHUNKS = 4

@contextmanager
def shown(what):
    def show(progress):
        print(progress.chunks, flush=True)
        if progress.chunks >= 8:
            sys.stdin.read()
    yield show

reindex.show_progress = shown
reindex.run_reindex(load_settings(store=sys.argv[1], embedder=sys.argv[2]))
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two models of different dimensions, as settings."""
    folder = tmp_path_factory.mktemp("models")
    wider = np.concatenate([TABLE[::-1], TABLE], axis=1)
    return f"onnx:{write_model(folder / 'first')}", f"onnx:{write_model(folder / 'second', wider)}"


@pytest.fixture(scope="module")
def indexed(models: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Pages, and a store that holds them with vectors of the first model."""
    pages, store = tmp_path_factory.mktemp("pages"), tmp_path_factory.mktemp("indexed") / "store"
    for page in range(PAGES):
        text = f"# Page {page}\n\nproxy {'gateway ' * (page % 3)}{'backup ' * (page % 5)}rule {page}\n"
        (pages / f"page{page:02}.md").write_text(text, encoding="utf-8")
    assert ingest(pages, store, models[0])["documents"] == PAGES
    return pages, store


@pytest.fixture
def copy(indexed: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """The same pages, and a copy of the store."""
    shutil.copytree(indexed[0], tmp_path / "pages")
    copy_store(indexed[1], tmp_path / "store")
    # The store knows its pages by their folder.
    return indexed[0], tmp_path / "store"


def ingest(pages: Path, store: Path, model: str) -> dict[str, Any]:
    return run(ingest_app, str(pages), "--store", str(store), "--project", "p", "--embedder", model, "--json")


def reindex(store: Path, model: str) -> dict[str, Any]:
    return run(reindex_app, "--store", str(store), "--embedder", model, "--json")


def run(app: Any, *arguments: str) -> dict[str, Any]:
    done: dict[str, Any] = json.loads(CliRunner().invoke(app, arguments).stdout)
    return done


def settings_of(store: Path, model: str) -> Settings:
    return load_settings(store=store, project="p", embedder=model)


def search(backends: Backends) -> Ranking:
    return backends.retriever.search("backup gateway", Filters("p"), 10)


def rank(store: Path, model: str) -> Ranking:
    backends = open_backends(settings_of(store, model), wait_for_model=True)
    try:
        return search(backends)
    finally:
        backends.close()


def vectors(store: Path) -> list[str]:
    return sorted(path.name for path in store.glob("vectors*"))


def test_another_model_is_refused_by_an_ingest_and_answers_by_words(
    copy: tuple[Path, Path], models: tuple[str, str]
) -> None:
    pages, store = copy
    error = ingest(pages, store, models[1])["error"]
    assert (error["details"]["reason"], "winnow reindex" in error["message"]) == ("EMBEDDING_MISMATCH", True)
    found = rank(store, models[1])
    assert found.legs == "lexical-only"
    assert any("winnow reindex" in warning for warning in found.warnings)


def test_a_reindex_ends_where_an_ingest_with_that_model_would_have(
    copy: tuple[Path, Path], models: tuple[str, str], tmp_path: Path
) -> None:
    pages, store = copy
    done = reindex(store, models[1])
    assert (done["documents"], done["chunks"], done["kept"], done["dimension"]) == (PAGES, PAGES, 0, 12)
    ingest(pages, tmp_path / "fresh", models[1])
    found, expected = rank(store, models[1]), rank(tmp_path / "fresh", models[1])
    assert (found.hits, found.legs, found.warnings) == (expected.hits, "hybrid", ())
    again = ingest(pages, store, models[1])
    assert (again["unchanged"], again["documents"]) == (PAGES, 0)


def test_a_server_that_has_the_former_vectors_goes_on_with_them(
    copy: tuple[Path, Path], models: tuple[str, str]
) -> None:
    _, store = copy
    serving = open_backends(settings_of(store, models[0]), wait_for_model=True)
    before = search(serving)
    assert reindex(store, models[1])["chunks"] == PAGES
    assert (search(serving).hits, search(serving).legs) == (before.hits, "hybrid")
    serving.close()
    assert len(vectors(store)) == 2
    assert rank(store, models[1]).legs == "hybrid"
    assert len(vectors(store)) == 1  # the next process that opens the store removes what is left over


def test_killed_a_reindex_leaves_the_former_index_and_goes_on_where_it_was(
    copy: tuple[Path, Path], models: tuple[str, str]
) -> None:
    _, store = copy
    before = rank(store, models[0])
    told = kill_reindex(store, models[1])
    assert rank(store, models[0]) == before
    done = reindex(store, models[1])
    assert done["kept"] >= told >= 8
    assert done["kept"] + done["chunks"] == PAGES
    assert rank(store, models[1]).legs == "hybrid"


def test_a_reindex_of_documents_that_changed_since_begins_anew(
    copy: tuple[Path, Path], models: tuple[str, str], tmp_path: Path
) -> None:
    _, store = copy
    kill_reindex(store, models[1])
    page = tmp_path / "another.md"
    page.write_text("# Another\n\nbackup policy\n", encoding="utf-8")
    assert ingest(page, store, models[0])["documents"] == 1
    done = reindex(store, models[1])
    assert (done["kept"], done["chunks"]) == (0, PAGES + 1)


def kill_reindex(store: Path, model: str) -> int:
    """Kill a reindex once it has reported eight chunks, and return the number reported."""
    command = [sys.executable, "-c", TELLING, str(store), model]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        told = 0
        while told < 8:
            told = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
    return told


def test_a_reindex_without_an_index_or_a_model_says_what_to_do(tmp_path: Path, models: tuple[str, str]) -> None:
    assert reindex(tmp_path / "none", models[0])["error"]["details"]["reason"] == "NOT_FOUND"
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "catalogue.sqlite3").touch()
    error = reindex(tmp_path / "store", f"onnx:{tmp_path}")["error"]
    assert (error["details"]["reason"], "tokenizer.json" in error["message"]) == ("MODEL_UNAVAILABLE", True)
