"""The retriever: both legs joined, or one leg with a warning where the other fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from winnow.server.backends.vectors.edge import EdgeStore
from winnow.server.errors import WinnowError
from winnow.server.ids import chunk_id, document_id
from winnow.server.models import Document, Filters, Ranking
from winnow.server.retrieval.hybrid import Mode, Retriever
from winnow.server.retrieval.lexical import build_document_vector, split_terms
from winnow.server.storage.base import Embedder, ModelState, Point, SparseVector, Vector, payload_of

DIMENSION = 64
FINGERPRINT = "hashed-terms/1"
TEXTS = {
    "proxy.md": "The proxy forwards traffic to the gateway on port 8443.",
    "backup.md": "Backups are encrypted before they leave the machine.",
    "traffic.md": "Traffic lights and traffic signs.",
    "gateway.md": "A gateway joins two networks.",
}


class HashedTerms:
    """A minimal embedder: texts that share terms have near vectors."""

    fingerprint = FINGERPRINT
    dimension = DIMENSION
    languages: frozenset[str] | None = frozenset({"en"})

    def __init__(self, background: float = 0.0) -> None:
        self.background = background

    def embed(self, texts: Sequence[str]) -> Vector:
        rows = np.full((len(texts), DIMENSION), 0.01, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for term in split_terms(text):
                row[sum(map(ord, term)) % DIMENSION] += 1
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)

    embed_queries = embed


@dataclass
class Source:
    """A model that is available, or not."""

    model: Embedder | None
    state: ModelState = "missing"
    why: str = "no embedding model is installed"

    def ready(self) -> Embedder | None:
        return self.model

    def wait(self) -> Embedder | None:
        return self.model


class NoLexical(EdgeStore):
    """A store whose sparse index is down."""

    def search_sparse(self, vector: SparseVector, filters: Filters, limit: int) -> list[tuple[str, float]]:
        raise WinnowError("INDEX_UNAVAILABLE", "the sparse index is down")


class NoDense(EdgeStore):
    """A store whose dense index is down."""

    def search_dense(self, vector: Vector, filters: Filters, limit: int) -> list[tuple[str, float]]:
        raise WinnowError("INDEX_UNAVAILABLE", "the dense index is down")


IDS = {uri: chunk_id("p", uri, (), text, 0) for uri, text in TEXTS.items()}
URIS = {id: uri for uri, id in IDS.items()}


def fill(store: EdgeStore, texts: Mapping[str, str] = TEXTS) -> EdgeStore:
    vectors = HashedTerms().embed(list(texts.values()))
    points = []
    for (uri, text), vector in zip(texts.items(), vectors, strict=True):
        document = Document(document_id("p", uri), "p", uri, "/docs", "", "markdown", "")
        chunk = chunk_id("p", uri, (), text, 0)
        points.append(Point(chunk, build_document_vector("", text), vector, payload_of(document)))
    store.upsert(points)
    return store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EdgeStore]:
    opened = fill(EdgeStore(tmp_path, DIMENSION))
    yield opened
    opened.close()


def retriever(store: EdgeStore, model: Embedder | None = None, indexed_with: str = FINGERPRINT) -> Retriever:
    return Retriever(store, Source(model), lambda _: indexed_with)


def uris(ranking: Ranking) -> list[str]:
    return [URIS[hit.chunk_id] for hit in ranking.hits]


def test_both_legs_are_joined_and_every_hit_has_both_scores_it_has(store: EdgeStore) -> None:
    found = retriever(store, HashedTerms()).search("proxy traffic", Filters("p"), 10)
    assert (found.legs, found.fusion, found.warnings) == ("hybrid", "convex", ())
    assert uris(found)[0] == "proxy.md"
    assert all(hit.dense is not None for hit in found.hits)
    assert {URIS[hit.chunk_id] for hit in found.hits if hit.lexical is not None} == {"proxy.md", "traffic.md"}
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


def test_the_limit_cuts_the_end_of_the_same_ranking(store: EdgeStore) -> None:
    search = retriever(store, HashedTerms()).search
    assert search("proxy traffic", Filters("p"), 2).hits == search("proxy traffic", Filters("p"), 10).hits[:2]


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "dense"])
@pytest.mark.parametrize("equals", [101, 130, 600])
def test_what_many_say_alike_is_ranked_by_id_however_the_index_was_filled(
    tmp_path: Path, mode: Mode, equals: int
) -> None:
    """More chunks than a leg's depth have equal scores; the selection must not depend on the engine."""
    texts = {**TEXTS, **{f"{number}.md": "The proxy forwards traffic." for number in range(equals)}}
    rankings = []
    for folder, order in (("one", [*texts]), ("other", [*reversed(texts)])):
        (tmp_path / folder).mkdir()
        store = fill(EdgeStore(tmp_path / folder, DIMENSION), {uri: texts[uri] for uri in order})
        rankings.append(retriever(store, HashedTerms()).search("proxy traffic", Filters("p"), 50, mode=mode).hits)
        store.close()
    assert rankings[0] == rankings[1]
    assert len(rankings[0]) == 50


def test_cosines_below_the_models_background_count_nothing_beside_words(store: EdgeStore) -> None:
    usual, lofty = retriever(store, HashedTerms()), retriever(store, HashedTerms(background=1.0))
    (words,) = (hit for hit in lofty.search("proxy traffic", Filters("p"), 1).hits)
    assert (URIS[words.chunk_id], words.score) == ("proxy.md", 0.5)
    assert words.dense == usual.search("proxy traffic", Filters("p"), 1).hits[0].dense
    chunks = list(URIS)
    assert usual.score("proxy traffic", "p", chunks).hits[0].score == 1.0
    assert lofty.score("proxy traffic", "p", chunks).hits[0].score == 0.5


def test_fusion_by_ranks_is_there_on_request(store: EdgeStore) -> None:
    found = retriever(store, HashedTerms()).search("proxy traffic", Filters("p"), 10, fusion="rrf")
    assert (found.fusion, uris(found)[0]) == ("rrf", "proxy.md")
    assert found.hits[0].score == pytest.approx(2 / 60, abs=1e-6)


@pytest.mark.parametrize(("mode", "legs"), [("lexical", "lexical-only"), ("dense", "semantic-only")])
def test_one_leg_alone_on_request_is_no_cause_for_a_warning(store: EdgeStore, mode: Mode, legs: str) -> None:
    found = retriever(store, HashedTerms()).search("proxy traffic", Filters("p"), 10, mode=mode)
    assert (found.legs, found.fusion, found.warnings) == (legs, "none", ())
    assert all(0 <= hit.score <= 1 for hit in found.hits)


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_without_a_model_words_answer_and_it_says_why(store: EdgeStore, mode: Mode) -> None:
    found = retriever(store).search("proxy traffic", Filters("p"), 10, mode=mode)
    assert (found.legs, found.fusion) == ("lexical-only", "none")
    assert found.warnings == ("ranked by words alone: no embedding model is installed",)
    assert uris(found) == ["proxy.md", "traffic.md"]


@pytest.mark.parametrize(
    ("indexed_with", "warning"),
    [
        ("", "was indexed without the embedding model"),
        ("other/2", "indexed with another embedding model (other/2)"),
    ],
)
def test_vectors_of_another_model_are_not_compared(store: EdgeStore, indexed_with: str, warning: str) -> None:
    found = retriever(store, HashedTerms(), indexed_with).search("proxy", Filters("p"), 10)
    assert found.legs == "lexical-only"
    assert warning in found.warnings[0]


def test_a_query_in_a_script_the_model_does_not_read_is_ranked_by_words(store: EdgeStore) -> None:
    found = retriever(store, HashedTerms()).search("шлюз прокси", Filters("p"), 10)
    assert (found.legs, found.hits) == ("lexical-only", ())
    assert "does not read the language" in found.warnings[0]


def test_when_the_dense_leg_is_down_words_answer(tmp_path: Path) -> None:
    store = fill(NoDense(tmp_path, DIMENSION))
    found = retriever(store, HashedTerms()).search("proxy", Filters("p"), 10)
    store.close()
    assert (found.legs, uris(found)) == ("lexical-only", ["proxy.md"])
    assert "the semantic leg is down" in found.warnings[0]


def test_when_the_lexical_leg_is_down_meaning_answers(tmp_path: Path) -> None:
    store = fill(NoLexical(tmp_path, DIMENSION))
    found = retriever(store, HashedTerms()).search("proxy", Filters("p"), 1)
    with pytest.raises(WinnowError, match="sparse index is down"):
        retriever(store).search("proxy", Filters("p"), 1)
    store.close()
    assert (found.legs, uris(found)) == ("semantic-only", ["proxy.md"])
    assert "the lexical leg is down" in found.warnings[0]


def test_a_filter_that_is_none_is_the_callers_mistake_and_not_a_leg_that_is_down(store: EdgeStore) -> None:
    with pytest.raises(WinnowError, match="ISO date"):
        retriever(store, HashedTerms()).search("proxy", Filters("p", updated_after="soon"), 10)


def test_a_project_that_does_not_exist_has_no_hits(store: EdgeStore) -> None:
    assert retriever(store, HashedTerms()).search("proxy", Filters("nowhere"), 10).hits == ()


def test_a_query_of_stopwords_is_answered_by_meaning_alone(store: EdgeStore) -> None:
    found = retriever(store, HashedTerms()).search("what is this about", Filters("p"), 10)
    assert len(found.hits) == len(TEXTS)
