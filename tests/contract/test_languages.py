"""The same paragraphs in five languages in one project: every query finds the one in its own language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ingesting import ingest_paths
from winnow.server.backends.models.installed import table, weights
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.jobs.target import target_of
from winnow.server.models import Filters
from winnow.server.retrieval.evaluation import (
    EvaluationCollection,
    best_by_document,
    compute_measures,
    read_collection,
)
from winnow.server.retrieval.hybrid import Mode
from winnow.server.retrieval.legs import Fusion
from winnow.server.retrieval.relevance import IRRELEVANT_WARNING
from winnow.server.settings.loading import load_settings
from winnow.server.text.words.languages import language_of

FOLDER = Path(__file__).parents[1] / "languages"
LANGUAGES = ("ar", "de", "en", "ru", "zh")
CARRIER = weights.find_installed_carrier()

pytestmark = pytest.mark.skipif(
    CARRIER is None, reason=f"the package {table.CARRIER.requirement} is not installed"
)


@pytest.fixture(scope="module")
def collection() -> EvaluationCollection:
    return read_collection(FOLDER)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, collection: EvaluationCollection) -> Iterator[Backends]:
    settings = load_settings(store=str(tmp_path_factory.mktemp("languages")), project="all", graph="off")
    backends = open_backends(settings, wait_for_model=True)
    ingest_paths(target_of(settings, backends, backends.embedder.ready()), [collection.corpus])
    yield backends
    backends.close()


def ndcg(
    index: Backends, collection: EvaluationCollection, language: str, mode: Mode, fusion: Fusion, words: int
) -> float:
    """Of the language's questions, or of every ``words`` of them in a row."""
    records = {
        chunk.id: document.uri.partition("#")[2]
        for document in index.catalogue.documents("all")
        for chunk in index.catalogue.chunks(document.id, "all")
    }
    run, judged = {}, {}
    for query, text in collection.queries.items():
        for n, part in enumerate(parts(text, words) if query.startswith(language) else ()):
            hits = index.retriever.search(part, Filters("all"), 10, mode=mode, fusion=fusion).hits
            run[f"{query}/{n}"] = best_by_document((records[hit.chunk_id], hit.score) for hit in hits)
            judged[f"{query}/{n}"] = collection.judgements[query]
    return compute_measures(run, judged)["ndcg@10"]


def parts(text: str, words: int) -> list[str]:
    """The text, or its pieces of so many words (of twice as many characters, where it has no spaces)."""
    units, space = (text.split(), " ") if " " in text else (list(text), "")
    size = words if space else 2 * words
    return [space.join(units[at : at + size]) for at in range(0, len(units) - size + 1, size)] if words else [text]


def test_every_document_is_known_to_be_in_its_language(index: Backends, collection: EvaluationCollection) -> None:
    found = {one.uri.partition("#")[2][:2]: one.language for one in index.catalogue.documents("all")}
    assert found == {language: language for language in LANGUAGES}
    assert sum(index.catalogue.languages("all").values()) == len(collection.queries)
    texts = [json.loads(line) for line in collection.corpus.read_text("utf-8").splitlines()]
    wrong = [one["_id"] for one in texts if language_of(one["text"]) not in (one["_id"][:2], "")]
    assert wrong == []


@pytest.mark.parametrize("words", [0, 3])
@pytest.mark.parametrize("fusion", ["convex", "rrf"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_both_legs_are_never_worse_than_words_alone(
    index: Backends, collection: EvaluationCollection, language: str, fusion: Fusion, words: int
) -> None:
    """Whole questions, and three words of them, which leave more to the ranking; by one point at most."""
    alone = ndcg(index, collection, language, "lexical", fusion, words)
    both = ndcg(index, collection, language, "hybrid", fusion, words)
    assert both >= alone - 0.01
    assert both >= (0.99 if not words else 0.75)


@pytest.mark.parametrize(
    ("query", "is_relevant"),
    [
        ("how long are copies of the databases kept", True),
        ("which mortgage rates do banks offer to students", False),
        ("wie lange werden Kopien der Datenbanken aufbewahrt", None),
    ],
)
def test_whether_anything_is_relevant_is_told_where_the_model_reads_the_query(
    index: Backends, query: str, is_relevant: bool | None
) -> None:
    found = index.retriever.search(query, Filters("all"), 5)
    assert (found.relevance is None) == (is_relevant is None)
    assert (IRRELEVANT_WARNING in found.warnings) == (is_relevant is False)
    assert len(found.hits) == 5


def test_where_nothing_passes_the_filters_there_is_nothing_to_judge(index: Backends) -> None:
    found = index.retriever.search("which mortgage rates do banks offer", Filters("all", vendor="nobody"), 5)
    assert (found.hits, found.relevance, found.warnings) == ((), None, ())
