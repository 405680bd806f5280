"""Labels of documents: their own first, then the ingest's defaults, and the index always agrees."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.ingesting import ingest_paths
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.models.installed.table import DEFAULT
from winnow.server.backends.opening import Backends, catalogue_path
from winnow.server.commands.ingest import app
from winnow.server.ids import document_id
from winnow.server.ingest.pipeline import IngestReport, RawDocument, Target, ingest_documents
from winnow.server.models import Document, Filters
from winnow.server.readers.documents import DefaultLabels
from winnow.server.settings.loading import load_settings
from winnow.server.storage.base import CatalogueChanges, Vector

PAGES = {
    "plain.md": "# Plain\n\nThe proxy forwards traffic.\n",
    "stated.md": "---\nenvironment: prod\nrepository: acme/app\ndoc_tag: v1\n---\n# Stated\n\nProxy rules.\n",
    "half.md": "---\nenvironment: dev\n---\n# Half\n\nThe proxy restarts.\n",
    "c.jsonl": '{"_id": "1", "text": "proxy one", "metadata": {"environment": "scratch"}}\n'
    '{"_id": "2", "text": "proxy two"}\n',
}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text)
    return folder


def counts(report: IngestReport) -> tuple[int, int, int]:
    return report.documents, report.unchanged, report.chunks


def in_catalogue(target: Target) -> dict[str, tuple[str, str, str]]:
    return {each.uri: _labels(each) for each in target.catalogue.documents("p")}


def _labels(document: Document) -> tuple[str, str, str]:
    return document.doc_tag, document.environment, document.repository


def in_index(backends: Backends, **scope: Any) -> set[str]:
    """The uris that a search finds in this scope."""
    hits = backends.retriever.search("proxy", Filters("p", **scope), 20).hits
    found = backends.catalogue.passages([hit.chunk_id for hit in hits], "p")
    return {passage.document.uri for passage in found.values()}


def assert_index_agrees(backends: Backends) -> None:
    """Every label finds exactly the documents that the catalogue says have it."""
    documents = backends.catalogue.documents("p")
    for environment in ("dev", "prod", "scratch"):
        expected = {each.uri for each in documents if each.environment == environment}
        assert in_index(backends, environment=environment) == expected
    for repository in ("acme/app", "acme/web"):
        assert in_index(backends, repositories=(repository,)) == {
            each.uri for each in documents if each.repository == repository
        }
    for tag in ("v1", "v2"):
        assert in_index(backends, doc_tags=(tag,)) == {each.uri for each in documents if each.doc_tag == tag}


def test_an_ingest_labels_what_states_no_label_and_leaves_the_rest(
    target: Target, backends: Backends, docs: Path
) -> None:
    ingest_paths(target, [docs], labels=DefaultLabels("v2", "prod", "acme/web"))
    assert in_catalogue(target) == {
        "c.jsonl#1": ("v2", "scratch", "acme/web"),
        "c.jsonl#2": ("v2", "prod", "acme/web"),
        "half.md": ("v2", "dev", "acme/web"),
        "plain.md": ("v2", "prod", "acme/web"),
        "stated.md": ("v1", "prod", "acme/app"),
    }
    assert_index_agrees(backends)


def test_without_labels_a_document_is_in_no_scope(target: Target, backends: Backends, docs: Path) -> None:
    ingest_paths(target, [docs])
    assert in_catalogue(target)["plain.md"] == ("", "", "")
    assert_index_agrees(backends)
    assert in_index(backends) == {"c.jsonl#1", "c.jsonl#2", "half.md", "plain.md", "stated.md"}


def test_the_same_files_with_another_flag_change_the_documents_concerned_and_no_others(
    target: Target, backends: Backends, docs: Path
) -> None:
    ingest_paths(target, [docs], labels=DefaultLabels(environment="prod"))
    generation = target.catalogue.generation("p")
    again = ingest_paths(target, [docs], labels=DefaultLabels(environment="prod"))
    assert (counts(again), target.catalogue.generation("p")) == ((0, 5, 0), generation)
    # Two documents take the environment of the ingest; their points keep their vectors.
    assert counts(ingest_paths(target, [docs], labels=DefaultLabels(environment="dev"))) == (2, 3, 0)
    assert in_index(backends, environment="dev") == {"half.md", "plain.md", "c.jsonl#2"}
    assert_index_agrees(backends)


def test_labels_hold_for_one_run_and_none_means_none(target: Target, backends: Backends, docs: Path) -> None:
    ingest_paths(target, [docs], labels=DefaultLabels("v2", "prod", "acme/web"))
    ingest_paths(target, [docs])
    assert in_catalogue(target)["plain.md"] == ("", "", "")
    assert_index_agrees(backends)


def test_a_part_of_a_source_may_have_labels_of_its_own(target: Target, backends: Backends, docs: Path) -> None:
    ingest_paths(target, [docs], labels=DefaultLabels(environment="prod"))
    ingest_paths(target, [docs / "plain.md"], labels=DefaultLabels(environment="scratch"))
    assert in_catalogue(target)["plain.md"] == ("", "scratch", "")
    assert in_catalogue(target)["c.jsonl#2"] == ("", "prod", "")
    assert_index_agrees(backends)


def test_a_file_that_changes_its_label_leaves_its_former_scope(
    target: Target, backends: Backends, docs: Path
) -> None:
    ingest_paths(target, [docs])
    (docs / "stated.md").write_text(PAGES["stated.md"].replace("environment: prod", "environment: dev"))
    assert counts(ingest_paths(target, [docs])) == (1, 4, 1)
    assert in_index(backends, environment="prod") == set()
    assert_index_agrees(backends)


def test_an_environment_that_no_scope_can_name_is_kept_and_told(
    target: Target, backends: Backends, docs: Path
) -> None:
    (docs / "half.md").write_text(PAGES["half.md"].replace("dev", "production"))
    (warning,) = ingest_paths(target, [docs], labels=DefaultLabels(environment="prod")).warnings
    assert warning == (
        "documents whose environment is none of dev, prod and scratch: 1 (first: 'half.md', 'production'); "
        "no scope can name it, so every scope with an environment leaves them out; correct it in the documents"
    )
    assert in_catalogue(target)["half.md"] == ("", "production", "")
    assert "half.md" not in in_index(backends, environment="prod")
    assert_index_agrees(backends)


class Counting:
    """An embedder that counts the texts it is given."""

    fingerprint, dimension, languages, background, related = "counting", DEFAULT.dimension, None, 0.0, 1.0

    def __init__(self) -> None:
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Vector:
        self.texts += len(texts)
        found = np.zeros((len(texts), DEFAULT.dimension), dtype=np.float32)
        found[:, 0] = 1.0
        return found

    embed_queries = embed


LONG = "# Long\n\n" + "".join(
    f"## Part {number}\n\nThe proxy of part {number}. {'Words. ' * 300}\n" for number in range(6)
)


def test_a_changed_label_embeds_nothing_and_a_changed_text_or_title_what_depends_on_it(
    backends: Backends, docs: Path
) -> None:
    """Every point has the vectors and labels that an ingest into an empty index gives it."""
    embedder = Counting()
    with_model = Target("p", backends.catalogue, backends.store, embedder)
    (docs / "long.md").write_text(LONG)
    ingest_paths(with_model, [docs])
    first = embedder.texts
    vectors = {point.chunk_id: point.sparse for page in backends.store.points() for point in page}
    report = ingest_paths(with_model, [docs], labels=DefaultLabels("v2", "dev", "acme/web"))
    assert (report.documents, report.chunks, embedder.texts - first) == (5, 0, 0)
    assert {point.chunk_id: point.sparse for page in backends.store.points() for point in page} == vectors
    assert_index_agrees(backends)
    assert in_index(backends, doc_tags=("v2",)) == {"c.jsonl#1", "c.jsonl#2", "half.md", "long.md", "plain.md"}
    (docs / "long.md").write_text(LONG.replace("of part 3.", "of part three."))
    assert ingest_paths(with_model, [docs]).chunks == embedder.texts - first == 1
    assert in_catalogue(with_model)["long.md"] == ("", "", "")
    assert_index_agrees(backends)
    (docs / "long.md").write_text(LONG.replace("# Long", "# Longer"))  # the title is in every vector
    report = ingest_paths(with_model, [docs], labels=DefaultLabels("v1"))
    assert report.chunks == len(backends.catalogue.chunks(document_id("p", "long.md"), "p")) > 6
    assert_index_agrees(backends)


class Stopped(BaseException):
    """What a test ends an ingest with, in place of a signal."""


class StoppingCatalogue(Catalogue):
    """A catalogue that ends its process before its next change."""

    def apply(self, changes: CatalogueChanges) -> None:
        if changes.entries:
            raise Stopped
        super().apply(changes)


@pytest.mark.parametrize("after", ["the same run", "the run before", "a run elsewhere"])
def test_an_ingest_that_dies_between_the_stores_leaves_no_document_in_a_scope_it_is_not_in(
    target: Target, backends: Backends, docs: Path, tmp_path: Path, after: str
) -> None:
    before, during = DefaultLabels(environment="dev"), DefaultLabels(environment="prod")
    ingest_paths(target, [docs], labels=before)
    stopping = StoppingCatalogue(catalogue_path(load_settings(store=tmp_path / "store")))
    with pytest.raises(Stopped):
        ingest_paths(Target("p", stopping, backends.store, None), [docs], labels=during)
    stopping.close()
    assert in_catalogue(target)["plain.md"] == ("", "dev", "")  # so far only the points were changed
    assert "plain.md" in in_index(backends, environment="prod")
    if after == "a run elsewhere":
        (tmp_path / "elsewhere.md").write_text("Something else.")
        ingest_paths(target, [tmp_path / "elsewhere.md"])
    else:
        ingest_paths(target, [docs], labels=during if after == "the same run" else before)
        # nothing is doubtful any more
        assert all(known.context_hash for known in target.catalogue.indexed_documents("p"))
    expected = "prod" if after == "the same run" else "dev"
    assert in_catalogue(target)["plain.md"] == ("", expected, "")
    assert_index_agrees(backends)


def test_an_index_from_before_labels_is_read_again_and_only_what_states_some_is_written(
    target: Target, backends: Backends, docs: Path, tmp_path: Path
) -> None:
    ingest_paths(target, [docs])
    with closing(sqlite3.connect(catalogue_path(load_settings(store=tmp_path / "store")))) as connection:
        # As the first release wrote it: stamps of its form, and unread labels in front matter.
        for name in PAGES:
            facts = (docs / name).stat()
            stamp = f"1:{facts.st_size}:{facts.st_mtime_ns}"
            connection.execute("UPDATE files SET stamp = ? WHERE origin = ?", (stamp, name))
        connection.execute(
            "UPDATE documents SET environment = '', repository = '', context_hash = 'of before'"
            " WHERE environment || repository <> ''"
        )
        connection.commit()
    assert counts(ingest_paths(target, [docs])) == (3, 2, 3)
    assert in_catalogue(target)["stated.md"] == ("v1", "prod", "acme/app")
    assert_index_agrees(backends)


def test_a_document_without_labels_is_the_same_as_before_there_were_any(target: Target) -> None:
    """Its hashes are those that the first winnow wrote, so an upgrade does not embed it again."""
    facts: dict[str, Any] = {"vendor": "v", "doc_tag": "t", "tags": ("x",), "created": "2026-01-01"}
    ingest_documents(target, "docs", [RawDocument("a.md", "markdown", "A", "words", metadata={"n": 1}, **facts)])
    (known,) = target.catalogue.indexed_documents("p")
    assert (known.content_hash, known.context_hash) == (
        "38c40493721c57c506e55a54ecbb6ebe",
        "33d1a2ed8367c4c5cf0f7c0824c76194",
    )


def test_the_command_labels_and_tells_what_no_scope_can_name(tmp_path: Path, docs: Path) -> None:
    (docs / "half.md").write_text(PAGES["half.md"].replace("dev", "staging"))
    arguments = [str(docs), "--store", str(tmp_path / "s"), "--project", "p", "--json"]
    flags = ["--doc-tag", "v2", "--environment", "prod", "--repository", " acme/web "]
    done = CliRunner().invoke(app, [*arguments, *flags])
    assert (done.exit_code, json.loads(done.stdout)["warnings"][-1].split(";")[0]) == (
        0,
        "documents whose environment is none of dev, prod and scratch: 1 (first: 'half.md', 'staging')",
    )
    catalogue = Catalogue(tmp_path / "s" / "catalogue.sqlite3")
    labels = {each.uri: _labels(each) for each in catalogue.documents("p")}
    catalogue.close()
    assert labels["plain.md"] == ("v2", "prod", "acme/web")
    assert labels["half.md"] == ("v2", "staging", "acme/web")


@pytest.mark.parametrize(
    "flags", [["--environment", "production"], ["--environment", ""], ["--doc-tag", "x" * 201], ["--repository"]]
)
def test_a_label_that_no_scope_could_name_is_refused_before_anything_is_read(
    tmp_path: Path, docs: Path, flags: list[str]
) -> None:
    done = CliRunner().invoke(app, [str(docs), "--store", str(tmp_path / "s"), *flags])
    assert (done.exit_code, (tmp_path / "s").exists()) == (2, False)


def test_forced_labels_win_over_what_documents_claim(target: Target, backends: Backends, docs: Path) -> None:
    """In the catalogue and in every filter; a label that is not given stays the document's own."""
    (docs / "claims.md").write_text("---\ndoc_tag: public\nenvironment: prod\n---\nThe proxy is open.\n")
    ingest_paths(target, [docs], labels=DefaultLabels("v2", "scratch"))
    assert in_catalogue(target)["claims.md"] == ("public", "prod", "")
    assert in_index(backends, environment="scratch") == {"plain.md", "c.jsonl#1", "c.jsonl#2"}
    forced = DefaultLabels("v2", "scratch", forced=True)
    assert ingest_paths(target, [docs], labels=forced).documents == 3  # those that claim something else
    assert {labels[:2] for labels in in_catalogue(target).values()} == {("v2", "scratch")}
    assert in_catalogue(target)["stated.md"] == ("v2", "scratch", "acme/app")
    assert in_index(backends, environment="prod") == in_index(backends, doc_tags=("public",)) == set()
    assert_index_agrees(backends)
    assert ingest_paths(target, [docs], labels=forced).unchanged == 6


def test_the_command_forces_the_labels_it_is_given(docs: Path, tmp_path: Path) -> None:
    store = tmp_path / "own"
    arguments = [str(docs), "--store", str(store), "--project", "p", "--force-labels"]
    refused = CliRunner().invoke(app, arguments)
    assert (refused.exit_code, "--force-labels needs --doc-tag" in refused.output) == (2, True)
    assert CliRunner().invoke(app, [*arguments, "--environment", "scratch"]).exit_code == 0
    with closing(Catalogue(catalogue_path(load_settings(store=store)))) as catalogue:
        assert {each.environment for each in catalogue.documents("p")} == {"scratch"}
