"""The verdict of kb.retrieve_evidence: fits its coefficients, and measures its errors on other collections.

    python -m tests.bench.verdict data/ --store /tmp/verdict --json

DATA has collections in BEIR format and folders of Markdown (NAME/md); golden questions come from tests/golden, and
twelve over the Kubernetes documentation, written by hand, from verdict.jsonl. Each collection is indexed once into
--store. Its own queries are answerable, those of other collections are foreign. A query whose judged documents are
left out of the ranking is "removed": the subject is there, the answer is not. Nor is it for the near-misses of
verdict.jsonl, questions for a number, a date, a version or a port that the documentation does not state.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
import typer
from numpy.typing import NDArray

from tests.bench.command_line import command_line
from tests.ingesting import ingest_paths
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.commands.eval.measurements import documents_of
from winnow.server.commands.terminal.output import Json, print_json, print_to_stderr, report_errors
from winnow.server.commands.terminal.progress import show_progress
from winnow.server.ingest.pipeline import Progress, Target, ingest_documents
from winnow.server.jobs.target import target_of
from winnow.server.models import Filters
from winnow.server.operations.answer_judgement import judge_answer
from winnow.server.operations.base import DIRECT, Caller, RankingCache, RequestContext
from winnow.server.operations.ranking.candidates import CandidateList, rank_distinct
from winnow.server.retrieval.answer_verdict import (
    Method,
    Signals,
    Verdict,
    decide,
    estimate_confidence,
)
from winnow.server.retrieval.evaluation import read_collection
from winnow.server.retrieval.golden_questions import GoldenSet, read_golden
from winnow.server.runtime.sessions.passage_store import PassageStore
from winnow.server.runtime.sessions.result_store import ResultStore
from winnow.server.runtime.sessions.saved_values import SavedValues
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

EXAMPLES = (
    "Examples: python -m tests.bench.verdict data/ --store /tmp/verdict | "
    "python -m tests.bench.verdict data/ --store /tmp/verdict --sample 40 --json"
)
_GOLDEN = Path(__file__).parents[1] / "golden"
_BY_HAND = Path(__file__).with_suffix(".jsonl")
_PROJECT = "verdict"
METHODS: tuple[Method, ...] = ("words and meaning", "words")
# The coefficients are fitted to these queries over these collections alone; every other pair is reported.
FITTED_QUERIES = ("scifact train", "stdlib")
FITTED_COLLECTIONS = ("scifact", "stdlib")
# Answerable questions weigh as much in the fit as all others.
_SHARES = {"answerable": 0.5, "foreign": 0.25, "removed": 0.25}
_RIDGE = 1e-3
_READ = 30  # candidates that are read, so that ten are left where the judged ones are removed
_KEPT = 10
_BINS = (0.0, 0.2, 0.4, 0.6, 0.8)
_SEED = 15


@dataclass(frozen=True, slots=True)
class QuerySet:
    """Questions by id, and the documents that answer each; ``home``: the collection that they belong to."""

    name: str
    home: str
    questions: Mapping[str, str]
    answers: Mapping[str, frozenset[str]]

    def sample(self, most: int) -> list[str]:
        """The ids of ``most`` questions, the same in every run."""
        ids = sorted(self.questions)
        return sorted(random.Random(_SEED).sample(ids, most)) if len(ids) > most else ids


@dataclass(frozen=True, slots=True)
class Judged:
    """The signals of one question over one collection; ``kind``: answerable, foreign, removed or near-miss."""

    collection: str
    queries: str
    kind: str
    question: str
    signals: Signals
    missing: tuple[str, ...]


Ingest = Callable[[Target, Callable[[Progress], None]], object]


# --- collections and questions ------------------------------------------------------------------------------


def read_query_sets(data: Path) -> list[QuerySet]:
    """The query sets of every collection in ``data``, and the golden questions."""
    sets = []
    for folder in _collection_folders(data):
        collection = read_collection(folder)
        sets.append(_query_set(folder.name, folder.name, collection.queries, collection.judgements))
        if (folder / "queries_train.jsonl").is_file():
            sets.append(_read_training(folder))
    for golden in read_golden(_GOLDEN):
        questions = {question.id: question.question for question in golden.questions}
        answers = {question.id: question.documents for question in golden.questions}
        sets.append(QuerySet(golden.name, golden.name, questions, answers))
    return [*sets, *(_read_by_hand(folder.name) for folder in _markdown_folders(data))]


def _collection_folders(data: Path) -> list[Path]:
    return sorted(path.parent for path in data.glob("*/qrels.tsv"))


def _markdown_folders(data: Path) -> list[Path]:
    return sorted(path.parent for path in data.glob("*/md"))


def _read_by_hand(name: str) -> QuerySet:
    rows = [row for row in map(json.loads, _BY_HAND.read_text("utf-8").splitlines()) if row["collection"] == name]
    answers = {row["id"]: frozenset([row["document"]]) for row in rows if row["document"]}
    return QuerySet(f"{name} by hand", name, {row["id"]: row["question"] for row in rows}, answers)


def _query_set(name: str, home: str, queries: Mapping[str, str], judgements: Mapping[str, Any]) -> QuerySet:
    return QuerySet(name, home, dict(queries), {query: frozenset(judgements[query]) for query in queries})


def _read_training(folder: Path) -> QuerySet:
    queries = map(json.loads, (folder / "queries_train.jsonl").read_text("utf-8").splitlines())
    judgements: dict[str, set[str]] = {}
    for line in (folder / "qrels_train.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, score = line.split("\t")
        if int(score) > 0:
            judgements.setdefault(query, set()).add(document)
    questions = {str(query["_id"]): str(query["text"]) for query in queries if str(query["_id"]) in judgements}
    return _query_set(f"{folder.name} train", folder.name, questions, judgements)


def list_collections(data: Path) -> dict[str, Ingest]:
    """Every collection by name, with the function that ingests it."""
    collections = {folder.name: _ingest(folder / "corpus.jsonl") for folder in _collection_folders(data)}
    collections |= {folder.name: _ingest(folder / "md") for folder in _markdown_folders(data)}
    return collections | {golden.name: _ingest_golden(golden) for golden in read_golden(_GOLDEN)}


def _ingest(path: Path) -> Ingest:
    return lambda target, on_progress: ingest_paths(target, [path], progress=on_progress)


def _ingest_golden(golden: GoldenSet) -> Ingest:
    return lambda target, on_progress: ingest_documents(
        target, golden.name, documents_of(golden), progress=on_progress
    )


@contextmanager
def _open(store: Path, name: str, ingest: Ingest, method: Method) -> Iterator[tuple[Backends, Settings]]:
    without = {"embedding": "off", "evidence": "lexical"} if method == "words" else {}
    settings = load_settings(store=store / name, project=_PROJECT, **without)
    backends = open_backends(settings, wait_for_model=True)
    try:
        if not any(info.name == _PROJECT for info in backends.catalogue.projects()):
            with show_progress(f"indexing {name}") as on_progress:
                ingest(target_of(settings, backends, backends.embedder.ready()), on_progress)
        yield backends, settings
    finally:
        backends.close()


# --- signals ------------------------------------------------------------------------------------------------


def _judge_all(
    backends: Backends, settings: Settings, name: str, sets: Sequence[QuerySet], most: int
) -> Iterator[Judged]:
    for queries in sets:
        for id in queries.sample(most):
            question = queries.questions[id]
            context = _build_context(backends, settings)
            ranking = rank_distinct(context, question, Filters(_PROJECT), _READ, _READ)
            answers = queries.answers.get(id, frozenset())
            own = "answerable" if answers else "near-miss"
            is_own = queries.home == name
            yield _judge(context, ranking, name, queries, own if is_own else "foreign", question)
            if is_own and answers:
                left = _without(ranking, answers)
                yield _judge(context, left, name, queries, "removed", question)
        print_to_stderr(f"{name}: {queries.name}")


def _judge(
    context: RequestContext, ranking: CandidateList, name: str, queries: QuerySet, kind: str, question: str
) -> Judged:
    judgement = judge_answer(context, replace(ranking, candidates=ranking.candidates[:_KEPT]))
    return Judged(name, queries.name, kind, question, judgement.signals, judgement.missing)


def _without(ranking: CandidateList, documents: frozenset[str]) -> CandidateList:
    """The ranking without the passages of these documents."""
    kept = (
        candidate
        for candidate in ranking.candidates
        if candidate.passage.document.uri.rpartition("#")[2] not in documents
    )
    return replace(ranking, candidates=tuple(kept))


def _build_context(backends: Backends, settings: Settings) -> RequestContext:
    """A context with empty caches, so that no question profits from another."""
    session = PassageStore(1 << 20, 60.0).session("bench")
    stores = ResultStore(60.0), SavedValues(60.0)
    return RequestContext(backends, settings, Caller("bench", DIRECT), session, RankingCache(), *stores)


def measure_signals(data: Path, store: Path, method: Method, most: int) -> list[Judged]:
    """The signals of all questions over all collections. They are kept in ``store`` and read from there again."""
    sets, judged = read_query_sets(data), []
    for name, ingest in list_collections(data).items():
        kept = store / f"{name}, {method}, {most}.json"
        if not kept.is_file():
            with _open(store, name, ingest, method) as (backends, settings):
                rows = [asdict(row) for row in _judge_all(backends, settings, name, sets, most)]
            kept.write_text(json.dumps(rows), "utf-8")
        for row in json.loads(kept.read_text("utf-8")):
            judged.append(
                Judged(**{**row, "signals": Signals(**row["signals"]), "missing": tuple(row["missing"])})
            )
    return judged


# --- the fit ------------------------------------------------------------------------------------------------


def fit(rows: Sequence[Judged]) -> dict[str, float]:
    """Coefficients by weighted logistic regression with a small ridge (Newton's method)."""
    names = list(rows[0].signals.features())
    features = np.array([[row.signals.features()[name] for name in names] for row in rows])
    truth = np.array([row.kind == "answerable" for row in rows], dtype=float)
    weights = _weigh(rows)
    coefficients = np.zeros(len(names))
    for _ in range(50):
        chances = 1 / (1 + np.exp(-features @ coefficients))
        gradient = features.T @ (weights * (truth - chances)) - _RIDGE * coefficients
        curvature = features.T * (weights * chances * (1 - chances)) @ features + _RIDGE * np.eye(len(names))
        coefficients = coefficients + np.linalg.solve(curvature, gradient)
    return {name: round(float(value), 3) for name, value in zip(names, coefficients, strict=True)}


def _weigh(rows: Sequence[Judged]) -> NDArray[np.float64]:
    """Weights with which each collection counts alike, and each kind in it by its share."""
    groups = [(row.collection, row.kind) for row in rows]
    weights = np.array([_SHARES[kind] / groups.count((name, kind)) for name, kind in groups])
    return np.asarray(weights * len(rows) / weights.sum())


def is_for_fit(row: Judged) -> bool:
    """Whether the coefficients may be fitted to this row."""
    return row.collection in FITTED_COLLECTIONS and row.queries in FITTED_QUERIES


# --- figures ------------------------------------------------------------------------------------------------


def area_under_curve(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The ROC AUC: how often a positive scores above a negative; ties count half (Hanley & McNeil 1982)."""
    above, below = np.array(positive)[:, None], np.array(negative)[None, :]
    return float((above > below).mean() + 0.5 * (above == below).mean())


def calibration_table(
    confidences: Sequence[float], truth: Sequence[bool], weights: Sequence[float]
) -> list[dict[str, float]]:
    """By intervals of confidence: the weight, the mean confidence, and the share that was answerable."""
    rows = np.array([confidences, truth, weights], dtype=float)
    numbers = np.digitize(rows[0], _BINS)
    table = []
    for number, low in enumerate(_BINS, start=1):
        confidence, is_true, weight = rows[:, numbers == number]
        if weight.size:
            table.append(
                {
                    "from": low,
                    "weight": _round(weight.sum() / rows[2].sum()),
                    "confidence": _round(confidence @ weight / weight.sum()),
                    "share": _round(is_true @ weight / weight.sum()),
                }
            )
    return table


def summarise(rows: Sequence[Judged]) -> dict[str, Any]:
    """The area under the curve of each pair, the errors at the thresholds, and the calibration of all together."""
    held_out = [row for row in rows if row.queries not in FITTED_QUERIES and row.kind in _SHARES]
    pairs = [
        pair
        for name in dict.fromkeys(row.collection for row in held_out)
        for pair in _summarise_collection([row for row in held_out if row.collection == name])
    ]
    foreign = [pair["auc"] for pair in pairs if pair["against"] != "removed"]
    return {
        "least_auc": min(foreign),
        "pooled": _summarise_pooled(held_out),
        "pairs": pairs,
        "verdicts": _count_verdicts(held_out),
        "answered": _count_answered(rows),
        "calibration": _calibrate(held_out),
    }


def _summarise_collection(rows: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    own = _confidences(row for row in rows if row.kind == "answerable")
    if not own:
        return
    others = {row.queries: row.kind for row in rows if row.kind == "foreign"} | {"removed": "removed"}
    for against, kind in others.items():
        negative = _confidences(row for row in rows if row.kind == kind and against in (row.queries, "removed"))
        yield {
            "collection": rows[0].collection,
            "against": against,
            "questions": [len(own), len(negative)],
            "auc": _round(area_under_curve(own, negative)),
        }


def _summarise_pooled(rows: Sequence[Judged]) -> dict[str, float]:
    own = _confidences(row for row in rows if row.kind == "answerable")
    return {
        kind: _round(area_under_curve(own, _confidences(row for row in rows if row.kind == kind)))
        for kind in ("foreign", "removed")
    }


def _count_verdicts(rows: Sequence[Judged]) -> dict[str, dict[str, float]]:
    """By kind of question, the shares of the verdicts."""
    table = {}
    for kind in _SHARES:
        counts = Counter(_decide(row) for row in rows if row.kind == kind)
        table[kind] = {verdict: _round(counts[verdict] / counts.total()) for verdict in get_args(Verdict)}
    return table


def _count_answered(rows: Sequence[Judged]) -> dict[str, dict[str, int]]:
    """By kind of question: all, those that are answered, and those that would be if no value were looked for."""
    table = {}
    for kind in dict.fromkeys(row.kind for row in rows):
        here = [row for row in rows if row.kind == kind]
        unread = [replace(row, signals=replace(row.signals, unstated=None)) for row in here]
        table[kind] = {"all": len(here), "answered": _answered(here), "by words and meaning": _answered(unread)}
    return table


def _answered(rows: Sequence[Judged]) -> int:
    return sum(_decide(row) == "answered" for row in rows)


def _decide(row: Judged) -> Verdict:
    return decide(estimate_confidence(row.signals), row.question, row.missing, is_english=True)


def _calibrate(rows: Sequence[Judged]) -> dict[str, Any]:
    """The calibration of all questions, weighted as in the fit, and the mean distance from it."""
    table = calibration_table(_confidences(rows), [row.kind == "answerable" for row in rows], list(_weigh(rows)))
    error = sum(row["weight"] * abs(row["confidence"] - row["share"]) for row in table)
    return {"error": _round(error), "table": table}


def _confidences(rows: Any) -> list[float]:
    return [estimate_confidence(row.signals) for row in rows]


def _round(value: float) -> float:
    return round(float(value), 4)


# --- the command --------------------------------------------------------------------------------------------


def run(
    data: Annotated[Path, typer.Argument(help="folder of collections in BEIR format")],
    store: Annotated[Path, typer.Option("--store", help="folder for indexes and signals, kept for the next run")],
    sample: Annotated[
        int, typer.Option("--sample", min=10, max=10_000, help="questions of each set at most")
    ] = 100,
    as_json: Json = False,
) -> None:
    """Fit the coefficients of the verdict, and measure the ones in the product on other collections."""
    with report_errors(as_json=as_json):
        store.mkdir(parents=True, exist_ok=True)
        figures = {}
        for method in METHODS:
            rows = measure_signals(data, store, method, sample)
            fitted = fit([row for row in rows if is_for_fit(row) and row.signals.method == method])
            figures[method] = {"fitted": fitted, **summarise(rows)}
    if as_json:
        print_json(figures)
        return
    for method, figure in figures.items():
        print(f"{method}: fitted {figure['fitted']}")
        for pair in figure["pairs"]:
            print(f"  {pair['collection']:<16}{pair['against']:<16}{pair['auc']:.3f}")
        print(f"  verdicts {figure['verdicts']}")


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app(prog_name="python -m tests.bench.verdict")
