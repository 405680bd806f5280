"""A synthetic corpus of any size: sentences of a real one in new combinations, with mixtures of its vectors.

A generated chunk takes most of its sentences from one real chunk, one from a neighbour of that chunk and one from
anywhere; its vector is a mixture of the three real ones, with a little noise, and length 1. It is near the model's
vector of the text; ``compare_with_model`` measures how near.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from winnow.server.ids import chunk_id, document_id
from winnow.server.ingest.indexed_text import indexed_text
from winnow.server.models import Chunk, Document, Passage
from winnow.server.retrieval.lexical import build_document_vector
from winnow.server.storage.base import CatalogueEntry, Embedder, Point, Vector, payload_of
from winnow.server.text.words.sentences import sentence_ends

PROJECT = "scale"
SOURCE = "drawn"
CHUNKS_A_DOCUMENT = 20
# Tags on a tenth, a fiftieth and a hundredth of the documents, for filters of that width.
WIDTHS = (10, 50, 100)
_WEIGHTS = (0.6, 0.25, 0.15)
_NEIGHBOURS = 8
_NOISE = 0.15
_QUERY_WORDS = 12
_LEAST_WORDS = 5


@dataclass(frozen=True, slots=True)
class Sample:
    """Real chunks: their titles, headings, sentences, and vectors of shape (chunks, dimension)."""

    titles: tuple[str, ...]
    headings: tuple[tuple[str, ...], ...]
    sentences: tuple[tuple[str, ...], ...]
    vectors: Vector


@dataclass(frozen=True, slots=True)
class Batch:
    """Some generated documents: entries of the catalogue and points of the index, in the same order."""

    entries: tuple[CatalogueEntry, ...]
    points: tuple[Point, ...]
    vectors: Vector


def build_sample(passages: Iterable[Passage], embedder: Embedder, progress: Callable[[int], None]) -> Sample:
    """Real passages with their sentences and vectors; those without a whole sentence are left out."""
    cut = [(one, _sentences_of(one.chunk.text)) for one in passages]
    kept = [(one, sentences) for one, sentences in cut if sentences]
    texts = [indexed_text(one.document, one.chunk) for one, _ in kept]
    vectors = []
    for start in range(0, len(texts), 64):
        vectors.append(embedder.embed(texts[start : start + 64]))
        progress(min(start + 64, len(texts)))
    return Sample(
        tuple(one.document.title for one, _ in kept),
        tuple(one.chunk.heading_path for one, _ in kept),
        tuple(sentences for _, sentences in kept),
        np.concatenate(vectors),
    )


def pick_questions(sample: Sample, count: int, seed: int = 7) -> list[str]:
    """The first words of real sentences, ``count`` of them, the same in every run."""
    generator = np.random.default_rng(seed)
    long = [one for some in sample.sentences for one in some if len(one.split()) >= _LEAST_WORDS]
    chosen = generator.choice(len(long), min(count, len(long)), replace=False)
    return [" ".join(long[at].split()[:_QUERY_WORDS]) for at in chosen]


def generate_corpus(sample: Sample, chunks: int, batch: int, fingerprint: str, seed: int = 1) -> Iterator[Batch]:
    """A corpus of ``chunks`` chunks, about ``batch`` at a time; the same for the same sample and seed."""
    generator = np.random.default_rng(seed)
    for start in range(0, chunks, batch):
        yield _generate_batch(sample, generator, start, min(batch, chunks - start), fingerprint)


def compare_with_model(sample: Sample, embedder: Embedder, count: int) -> dict[str, float]:
    """How generated vectors compare with the model's vectors of the same texts.

    The cosine of the two (median and 5th percentile), and the mean cosine between different chunks by either.
    """
    some = next(generate_corpus(sample, count, count, embedder.fingerprint, seed=2))
    chunks = [(entry.document, chunk) for entry in some.entries for chunk in entry.chunks]
    embedded = embedder.embed([indexed_text(one, chunk) for one, chunk in chunks])
    same = np.sum(embedded * some.vectors, axis=1)
    return {
        "cosine_p50": round(float(np.median(same)), 3),
        "cosine_p5": round(float(np.quantile(same, 0.05)), 3),
        "between_chunks_drawn": _mean_cosine(some.vectors),
        "between_chunks_model": _mean_cosine(embedded),
    }


def _mean_cosine(vectors: Vector) -> float:
    cosines = vectors @ vectors.T
    return round(float(np.mean(cosines[~np.eye(len(vectors), dtype=bool)])), 3)


def _sentences_of(text: str) -> tuple[str, ...]:
    ends = [*sentence_ends(text, 0, len(text))]
    starts = [0, *ends]
    return tuple(
        sentence
        for start, end in zip(starts, ends, strict=False)
        if len((sentence := " ".join(text[start:end].split())).split()) >= _LEAST_WORDS
    )


def _generate_batch(
    sample: Sample, generator: np.random.Generator, start: int, size: int, fingerprint: str
) -> Batch:
    whole, near, far = _draw_parents(sample, generator, size)
    vectors = _mix_vectors(sample.vectors, generator, whole, near, far)
    entries: list[CatalogueEntry] = []
    points: list[Point] = []
    for first in range(0, size, CHUNKS_A_DOCUMENT):
        rows = range(first, min(first + CHUNKS_A_DOCUMENT, size))
        title = sample.titles[whole[first]]
        texts = [_mix_text(sample, generator, whole[row], near[row], far[row]) for row in rows]
        headings = [sample.headings[whole[row]] for row in rows]
        entry = _build_entry((start + first) // CHUNKS_A_DOCUMENT, title, headings, texts, fingerprint)
        entries.append(entry)
        points += _build_points(entry, vectors[first : first + len(rows)])
    return Batch(tuple(entries), tuple(points), vectors)


Rows = Sequence[int]


def _draw_parents(sample: Sample, generator: np.random.Generator, size: int) -> tuple[Rows, Rows, Rows]:
    """For each chunk the three real ones it comes from: the main one, a neighbour of it, any."""
    total = len(sample.sentences)
    whole = generator.integers(0, total, size)
    near = np.clip(whole + generator.integers(-_NEIGHBOURS, _NEIGHBOURS + 1, size), 0, total - 1)
    return whole.tolist(), near.tolist(), generator.integers(0, total, size).tolist()


def _mix_vectors(vectors: Vector, generator: np.random.Generator, whole: Rows, near: Rows, far: Rows) -> Vector:
    dimension = vectors.shape[1]
    noise = generator.normal(0.0, _NOISE / np.sqrt(dimension), (len(whole), dimension)).astype(np.float32)
    parts = zip(_WEIGHTS, (whole, near, far), strict=True)
    mixed = sum((np.float32(weight) * vectors[rows] for weight, rows in parts), noise)
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), dtype=np.float32)


def _mix_text(sample: Sample, generator: np.random.Generator, whole: int, near: int, far: int) -> str:
    own = list(sample.sentences[whole])
    kept = own[: max(1, round(len(own) * (_WEIGHTS[0] + _WEIGHTS[1] / 2)))]
    others = [sample.sentences[near], sample.sentences[far]]
    taken = [sentences[generator.integers(len(sentences))] for sentences in others]
    return " ".join([*kept, *taken])


def _build_entry(
    number: int, title: str, headings: Sequence[tuple[str, ...]], texts: Sequence[str], fingerprint: str
) -> CatalogueEntry:
    uri = f"drawn/{number // 1000:04d}/{number:07d}.md"
    document = Document(
        document_id(PROJECT, uri),
        PROJECT,
        uri,
        SOURCE,
        title,
        "markdown",
        content_hash=str(number),
        tags=tuple(f"every-{width}" for width in WIDTHS if number % width == 0),
    )
    chunks, at = [], 0
    for ordinal, (heading, text) in enumerate(zip(headings, texts, strict=True)):
        id = chunk_id(PROJECT, uri, heading, text, ordinal)
        # About four characters a token: counting a million texts takes longer than writing them.
        chunks.append(Chunk(id, document.id, ordinal, heading, text, at, at + len(text), len(text) // 4))
        at += len(text) + 2
    return CatalogueEntry(document, "\n\n".join(texts), tuple(chunks), uri, fingerprint, str(number))


def _build_points(entry: CatalogueEntry, vectors: Vector) -> Iterator[Point]:
    payload = payload_of(entry.document)
    for chunk, vector in zip(entry.chunks, vectors, strict=True):
        text = indexed_text(entry.document, chunk)
        yield Point(chunk.id, build_document_vector(entry.document.title, text), vector, payload)
