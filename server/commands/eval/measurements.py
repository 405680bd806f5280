"""The three measurements of ``winnow eval``: rankings and quotes of a collection, and golden questions."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow.server.backends.opening import Backends, open_backends
from winnow.server.commands.demonstration import stdlib
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.commands.terminal.output import print_to_stderr
from winnow.server.commands.terminal.progress import show_progress
from winnow.server.errors import WinnowError
from winnow.server.ingest.children.parser import ParserProcess
from winnow.server.ingest.pipeline import IngestReport, Progress, Target, ingest_documents, ingest_files
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.jobs.target import target_of
from winnow.server.models import Filters, Hit
from winnow.server.operations.answers.budget import measure as size_of
from winnow.server.operations.base import Answer, Caller
from winnow.server.operations.knowledge import KnowledgeBase
from winnow.server.readers.documents import RawDocument, UnreadableFile
from winnow.server.readers.reading import ReadFlaw, read
from winnow.server.retrieval.evaluation import (
    MAX_DEPTH,
    EvaluationCollection,
    Retrieved,
    best_by_document,
    compute_measures,
    percentile,
    read_collection,
    summarise_recall,
)
from winnow.server.retrieval.golden_questions import (
    GoldenSet,
    Question,
    QuestionOutcome,
    ShownAnswer,
    list_failures,
    miss_of,
    read_golden,
    summarise_outcomes,
)
from winnow.server.retrieval.graph_expansion import Walk
from winnow.server.retrieval.hybrid import Mode
from winnow.server.retrieval.legs import Fusion
from winnow.server.runtime.sessions.passage_store import Session
from winnow.server.settings.settings import Settings

_LEGS: dict[str, tuple[str, ...]] = {
    "lexical": ("lexical",),
    "dense": ("dense",),
    "hybrid": ("fused",),
    "graph": ("fused", "hybrid_local", "multi_hop"),
    "all": ("lexical", "dense", "ranks", "fused", "hybrid_local", "multi_hop"),
}
_MODES: dict[str, tuple[Mode, Walk]] = {
    "lexical": ("lexical", "none"),
    "dense": ("dense", "none"),
    "ranks": ("hybrid", "none"),
    "fused": ("hybrid", "none"),
    "hybrid_local": ("hybrid", "hybrid_local"),
    "multi_hop": ("hybrid", "multi_hop"),
}
_TOP = 10  # the usual number of results; latency is measured with it
# Documents are ranked by their best chunk: enough chunks are fetched for 100 documents.
_CHUNKS_PER_DOCUMENT_MARGIN = 2
_FULL_CHUNKS = 5  # full chunks that quotes are compared with
_WITHOUT_MODEL = "by words alone, with WINNOW_EMBEDDING=off"

Ingest = Callable[[Target, Callable[[Progress], None]], IngestReport]


@contextmanager
def _open_indexed(
    settings: Settings, name: str, ingest: Ingest, instead: str
) -> Iterator[tuple[Backends, dict[str, int]]]:
    """The open index after ``ingest``. ``instead``: advice if there is no model, "" if none is needed."""
    backends = open_backends(settings, wait_for_model=True)
    try:
        if instead and settings.embedding != "off" and backends.embedder.wait() is None:
            raise WinnowError("MODEL_UNAVAILABLE", f"{backends.embedder.why}; or measure {instead}")
        target = target_of(settings, backends, backends.embedder.ready())
        with show_progress(f"indexing {name}") as on_progress:
            report = ingest(target, on_progress)
        if report.failures:
            first = report.failures[0]
            raise WinnowError("INVALID_REQUEST", f"{name}: {first.name}: {first.reason}")
        (info,) = (project for project in backends.catalogue.projects() if project.name == settings.project)
        yield backends, {"documents": info.documents, "chunks": info.chunks}
    finally:
        backends.close()


def _ingest_collection(collection: EvaluationCollection) -> Ingest:
    request = IngestRequest(paths=(collection.corpus,))
    return lambda target, on_progress: ingest_files(target, request, on_progress)


# --- rankings ---------------------------------------------------------------------------------------------


def measure_ranking(folder: Path, settings: Settings, mode: str) -> dict[str, Any]:
    """Quality of each leg's ranking of a collection's documents, and the latency of a query."""
    collection = read_collection(folder)
    instead = "" if mode == "lexical" else "with --mode lexical"
    with _open_indexed(settings, collection.name, _ingest_collection(collection), instead) as (backends, counts):
        legs = [leg for leg in _LEGS[mode] if backends.graph or _MODES[leg][1] == "none"]
        ranker = _Ranker(backends, settings.project, _records_by_chunk(backends, settings.project))
        depth = MAX_DEPTH * _CHUNKS_PER_DOCUMENT_MARGIN * -(-counts["chunks"] // counts["documents"])
        return {
            "collection": collection.name,
            **counts,
            "queries": len(collection.queries),
            "legs": {leg: ranker.leg(collection, depth, leg) for leg in legs},
            "latency_ms": ranker.latency(collection, legs[-1]),
        }


@dataclass(frozen=True, slots=True)
class _Ranker:
    """Ranks documents; ``records`` maps chunk ids to the ``_id`` of their record."""

    backends: Backends
    project: str
    records: Mapping[str, str]

    def leg(self, collection: EvaluationCollection, depth: int, leg: str) -> dict[str, float]:
        run = {}
        for query, text in collection.queries.items():
            hits = self._hits(text, depth, leg)
            run[query] = best_by_document((self.records[hit.chunk_id], hit.score) for hit in hits)
        return compute_measures(run, collection.judgements)

    def latency(self, collection: EvaluationCollection, leg: str) -> dict[str, float]:
        times = []
        for text in collection.queries.values():
            began = time.perf_counter()
            self._hits(text, _TOP, leg)
            times.append((time.perf_counter() - began) * 1000)
        shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
        return {name: round(percentile(times, share), 2) for name, share in shares.items()}

    def _hits(self, text: str, limit: int, leg: str) -> Sequence[Hit]:
        mode, walk = _MODES[leg]
        fusion: Fusion | None = "rrf" if leg == "ranks" else None
        search = self.backends.retriever.search
        return search(text, Filters(self.project), limit, mode=mode, walk=walk, fusion=fusion).hits


def _records_by_chunk(backends: Backends, project: str) -> dict[str, str]:
    """A map of chunk ids to the ``_id`` of their record."""
    records = {}
    for document in backends.catalogue.documents(project):
        for chunk in backends.catalogue.chunks(document.id, project):
            records[chunk.id] = _record_id(document.uri)
    return records


def _record_id(uri: str) -> str:
    """The ``_id`` of a collection's record, from its uri."""
    return uri.partition("#")[2]


# --- quotes -----------------------------------------------------------------------------------------------


def measure_quotes(folder: Path, settings: Settings) -> dict[str, Any]:
    """Share of the judged documents that one evidence call quotes, compared with the best full chunks."""
    collection = read_collection(folder)
    with _open_indexed(settings, collection.name, _ingest_collection(collection), _WITHOUT_MODEL) as (_, counts):
        pass
    print_to_stderr(f"{collection.name}: {len(collection.queries):,} queries")
    quoted, full = asyncio.run(_retrieve(settings, collection))
    return {
        "collection": collection.name,
        **counts,
        "queries": len(collection.queries),
        "evidence": settings.evidence,
        "quotes": summarise_recall(quoted, collection.judgements),
        "full_chunks": summarise_recall(full, collection.judgements),
    }


async def _retrieve(
    settings: Settings, collection: EvaluationCollection
) -> tuple[dict[str, Retrieved], dict[str, Retrieved]]:
    quoted, full = {}, {}
    async with _open_knowledge_base(settings) as kb:
        for query, text in collection.queries.items():
            caller = kb.caller(f"query {query}")
            answer = await kb.call("kb.retrieve_evidence", {"question": text}, caller)
            seen = _shown_answer(kb.passages.session(caller.connection), answer)
            quoted[query] = Retrieved(frozenset(map(_record_id, seen.documents)), seen.tokens)
            full[query] = await _full_chunks(kb, text, caller)
    return quoted, full


async def _full_chunks(kb: KnowledgeBase, query: str, caller: Caller) -> Retrieved:
    arguments = {"query": query, "top_k": _FULL_CHUNKS, "response_mode": "full"}
    rows = (await kb.call("semantic_search", arguments, caller)).payload["results"]
    return Retrieved(frozenset(_record_id(row["metadata"]["file"]) for row in rows), size_of(rows).tokens)


# --- golden questions -------------------------------------------------------------------------------------


def measure_golden(folder: Path, settings: Settings, only: str | None) -> dict[str, Any]:
    """Share of golden questions that the quotes of one call answer, by set and in all."""
    sets: dict[str, Any] = {}
    outcomes: list[QuestionOutcome] = []
    for golden_set in read_golden(folder, only):
        # A store of its own, because the rarity of a word depends on all documents of a store.
        own = settings.model_copy(update=_place_of(golden_set, settings))
        with _open_indexed(own, golden_set.name, _ingest_set(golden_set), _WITHOUT_MODEL) as (backends, counts):
            model = backends.catalogue.embedding(own.project)
        print_to_stderr(f"{golden_set.name}: {len(golden_set.questions)} questions")
        results, metrics = asyncio.run(_ask_all(own, golden_set.questions))
        sets[golden_set.name] = {
            **counts,
            "model": model,
            **summarise_outcomes(results),
            **metrics,
            **list_failures(results),
        }
        outcomes += results
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "evidence": settings.evidence,
        "all": summarise_outcomes(outcomes),
        "sets": sets,
    }


def _place_of(golden: GoldenSet, settings: Settings) -> dict[str, Any]:
    """The store and project of a set: for the documentation of Python those that `winnow demo` would make."""
    project = settings.project if golden.root else stdlib.PROJECT
    return {"store": settings.store / golden.name, "project": project}


def _ingest_set(golden: GoldenSet) -> Ingest:
    source = golden.name if golden.root else stdlib.SOURCE

    def ingest(target: Target, on_progress: Callable[[Progress], None]) -> IngestReport:
        return ingest_documents(target, source, documents_of(golden), progress=on_progress)

    return ingest


def documents_of(golden: GoldenSet) -> Iterator[RawDocument]:
    """The documents of a set. Raises ``UnreadableFile``."""
    if golden.root is None:
        yield from stdlib.documents_of(stdlib.read_corpus())
        return
    with ParserProcess() as parser:
        for path in golden.files:
            for document in read(path, path.relative_to(golden.root).as_posix(), parser):
                if isinstance(document, ReadFlaw):
                    raise UnreadableFile(f"{document.name}: {document.reason}")
                yield document


# Metrics of the answers that questions get.
_SHOWN = ("cursors", "duplicates", "quotes", "excerpts", "excerpts_truncated", "excerpt_truncation_rate")


async def _ask_all(
    settings: Settings, questions: Sequence[Question]
) -> tuple[list[QuestionOutcome], dict[str, Any]]:
    """Outcomes, with a session for each question, and the metrics of all answers."""
    async with _open_knowledge_base(settings) as kb:
        outcomes = [await _ask(kb, question) for question in questions]
        metrics = kb.metrics.snapshot()
        return outcomes, {name: metrics[name] for name in _SHOWN}


@asynccontextmanager
async def _open_knowledge_base(settings: Settings) -> AsyncIterator[KnowledgeBase]:
    """A knowledge base in this process, so that its sessions can be inspected."""
    kb = make_knowledge_base(settings, wait_for_model=True)
    try:
        await kb.open()
        yield kb
    finally:
        await kb.aclose()


async def _ask(kb: KnowledgeBase, question: Question) -> QuestionOutcome:
    caller = kb.caller(f"golden {question.id}")
    session = kb.passages.session(caller.connection)
    answer = await kb.call("kb.retrieve_evidence", {"question": question.question}, caller)
    first = _shown_answer(session, answer)
    miss = miss_of(question, first, _searched_passages(session))
    if miss is None:
        return QuestionOutcome(question, first, 1, first.bytes, None)
    more = await _second_call(kb, caller, question, answer)
    return QuestionOutcome(question, first, 2 if more else None, first.bytes + (more.bytes if more else 0), miss)


async def _second_call(
    kb: KnowledgeBase, caller: Caller, question: Question, answer: Answer
) -> ShownAnswer | None:
    """An answer from one more call that contains the words: text around a quote, or the next page."""
    for passage_id in dict.fromkeys(quote["passage_id"] for quote in answer.payload["quotes"]):
        excerpt = (await kb.call("kb.expand_excerpt", {"passage_id": passage_id}, caller)).payload
        if question.is_answered([excerpt["excerpt"]]):
            size = size_of(excerpt)
            return ShownAnswer((excerpt["excerpt"],), (), size.tokens, size.bytes)
    cursor = answer.payload["next_cursor"]
    if cursor is None:
        return None
    arguments = {"question": question.question, "cursor": cursor}
    seen = _shown_answer(
        kb.passages.session(caller.connection), await kb.call("kb.retrieve_evidence", arguments, caller)
    )
    return seen if question.is_answered(seen.texts) else None


def _shown_answer(session: Session, answer: Answer) -> ShownAnswer:
    rows, size = answer.payload["quotes"], size_of(answer.payload)
    kept = [session.get(row["passage_id"]) for row in rows]
    return ShownAnswer(
        tuple(row["quote"] for row in rows),
        tuple(entry.passage.document.uri for entry in kept if entry is not None),
        size.tokens,
        size.bytes,
        answer.payload["next_cursor"] is not None,
    )


def _searched_passages(session: Session) -> list[tuple[str, str]]:
    """The passages that were searched for quotes: after one call a session holds no others."""
    kept = [session.get(passage_id) for passage_id in session.ids()]
    return [(entry.passage.document.uri, entry.passage.chunk.text) for entry in kept if entry is not None]
