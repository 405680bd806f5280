"""The verdict on near-misses: the subject is in the collection, the answer is not.

    python -m tests.bench.near_misses data/ --store /tmp/near --json

DATA has folders of Markdown (NAME/md) and collections in BEIR format. Of each folder, and of the corpora of the
golden questions, a second index is made without the answers to the questions of ``near_miss_pairs``, and every
question is asked of both. Half of the documents is for the fit, by the digest of their names; half is judged. The
collection ``documentation`` is never fitted to. The questions of tests/golden/near_misses.jsonl are asked of the
collections as they are, and counted by kind; nothing is fitted to them.

"today" in the figures is the verdict by the methods without a value.
"""

from __future__ import annotations

import json
import pickle
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import log
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from tests.bench import verdict
from tests.bench.command_line import command_line
from tests.bench.near_miss_pairs import Pair, make_pairs, read_golden_pairs, read_pairs_by_hand, remove_answers
from tests.bench.verdict import Ingest, area_under_curve
from tests.ingesting import ingest_paths
from winnow.server.commands.eval.measurements import documents_of
from winnow.server.commands.terminal.output import Json, print_json, print_to_stderr, report_errors
from winnow.server.ingest.pipeline import RawDocument, ingest_documents
from winnow.server.models import Filters
from winnow.server.operations.ranking.candidates import rank_distinct
from winnow.server.operations.verdicts import Judgement, judge_answer
from winnow.server.retrieval.evaluation import read_collection
from winnow.server.retrieval.golden_questions import GoldenSet, read_golden
from winnow.server.retrieval.verdict import Method, decide, estimate_confidence, is_stated_near

EXAMPLES = (
    "Examples: python -m tests.bench.near_misses data/ --store /tmp/near | "
    "python -m tests.bench.near_misses data/ --store /tmp/near --json"
)
_GOLDEN = Path(__file__).parents[1] / "golden"
_HELD_OUT_QUESTIONS = _GOLDEN / "near_misses.jsonl"
HELD_OUT = "documentation"
# Without a value -> with one: the first opens the index, the second is fitted.
METHODS: Mapping[Method, Method] = {
    "words and meaning": "words, meaning and value",
    "words": "words and value",
}
# Kinds of rows: with the answer, without the spans that have it, without the documents that have it, and questions
# about something else. Only these are fitted to, with these shares of the weight.
_SHARES = {"answerable": 0.5, "removed": 0.35, "foreign": 0.15}
_NEGATIVE = ("removed", "left out", "foreign")
_RIDGE = 0.1
# The offset is moved so that this confidence of the fit becomes one half: near-misses are nearly as frequent as
# answers in the fit, not among what people ask, and fewer answers would count as such than without a value.
MOVED_TO_HALF: Mapping[Method, float] = {"words, meaning and value": 0.4, "words and value": 0.25}
_READ, _KEPT = 30, 10
_FOREIGN = 20
_SHORT_CHARS, _OTHERS = 16_000, 25
_SAMPLE = 100
_SEED = 27


@dataclass(frozen=True, slots=True)
class Row:
    """The judgement of one question; ``part``: what the halves are divided by."""

    collection: str
    part: str
    origin: str
    kind: str
    judgement: Judgement

    @property
    def is_fitted_to(self) -> bool:
        """Whether the coefficients may be fitted to this row."""
        is_first_half = zlib.crc32(f"{self.collection} {self.part}".encode()) % 2 == 0
        return self.collection != HELD_OUT and self.kind in _SHARES and is_first_half

    @property
    def confidence(self) -> float:
        """The confidence that the product has."""
        return estimate_confidence(self.judgement.signals)

    @property
    def confidence_today(self) -> float:
        """The confidence without what is stated."""
        return estimate_confidence(replace(self.judgement.signals, stated=None))

    def decide(self, *, with_value: bool) -> str:
        """The verdict, with or without what is stated."""
        told = self.judgement
        confidence = self.confidence if with_value else self.confidence_today
        is_stated = not with_value or is_stated_near(told.signals)
        return decide(confidence, told.question, told.missing, is_english=True, is_stated=is_stated)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A collection: its texts by uri, its questions, and how a version of the texts is ingested."""

    name: str
    texts: Mapping[str, str]
    pairs: Sequence[Pair]
    ingest: Callable[[Mapping[str, str], Path], Ingest]


# --- collections --------------------------------------------------------------------------------------------


def read_corpora(data: Path) -> list[Corpus]:
    """The folders of Markdown in ``data``, and the corpora of the golden questions."""
    return [*(_read_markdown(folder) for folder in sorted(data.glob("*/md"))), *_read_golden_corpora()]


def _read_markdown(folder: Path) -> Corpus:
    name = folder.parent.name
    texts = {path.name: path.read_text("utf-8") for path in sorted(folder.glob("*.md"))}
    by_hand = [pair for pair in read_pairs_by_hand() if pair.collection == name and pair.documents <= texts.keys()]
    return Corpus(name, texts, [*by_hand, *make_pairs(name, texts)], _ingest_files)


def _ingest_files(texts: Mapping[str, str], folder: Path) -> Ingest:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    return lambda target, on_progress: ingest_paths(target, [folder], progress=on_progress)


def _read_golden_corpora() -> Iterator[Corpus]:
    for golden in read_golden(_GOLDEN):
        documents = _choose_documents(golden)
        texts = {uri: raw.text for uri, raw in documents.items()}
        made = [] if golden.name == HELD_OUT else make_pairs(golden.name, texts)

        def ingest(
            texts: Mapping[str, str], _: Path, documents: Any = documents, name: str = golden.name
        ) -> Ingest:
            altered = [replace(raw, text=texts[uri]) for uri, raw in documents.items()]
            return lambda target, on_progress: ingest_documents(target, name, altered, progress=on_progress)

        yield Corpus(golden.name, texts, [*read_golden_pairs(golden), *made], ingest)


def _choose_documents(golden: GoldenSet) -> dict[str, RawDocument]:
    """All documents, or, of the standard library, those that its questions name and a sample of short others."""
    documents = {raw.uri: raw for raw in documents_of(golden)}
    if golden.root is not None:
        return documents
    named = frozenset[str]().union(*(question.documents for question in golden.questions))
    others = [uri for uri, raw in documents.items() if uri not in named and len(raw.text) < _SHORT_CHARS]
    chosen = named | set(_sample(others, _OTHERS))
    return {uri: raw for uri, raw in documents.items() if uri in chosen}


# --- rows ---------------------------------------------------------------------------------------------------


def measure(data: Path, store: Path, method: Method) -> list[Row]:
    """The judgements of all questions by one method. They are kept in ``store`` and read from there again."""
    kept = store / f"{method}.pickle"
    if not kept.is_file():
        kept.write_bytes(pickle.dumps(list(_measure_all(data, store, method))))
    rows: list[Row] = pickle.loads(kept.read_bytes())
    return rows


def _measure_all(data: Path, store: Path, method: Method) -> Iterator[Row]:
    corpora = read_corpora(data)
    foreign = {corpus.name: _sample([pair.question for pair in corpus.pairs], _FOREIGN) for corpus in corpora}
    for corpus in corpora:
        others = chain.from_iterable(asked for name, asked in foreign.items() if name != corpus.name)
        yield from _measure_corpus(corpus, store, method, list(others))
        print_to_stderr(f"{corpus.name}: {len(corpus.pairs)} questions, {method}")
    for folder in sorted(path.parent for path in data.glob("*/qrels.tsv")):
        yield from _measure_judged(folder, store, method)


def _sample(questions: Sequence[str], most: int) -> list[str]:
    return random.Random(_SEED).sample(list(questions), min(most, len(questions)))


def _measure_corpus(corpus: Corpus, store: Path, method: Method, foreign: Sequence[str]) -> Iterator[Row]:
    for kind, texts in (("answerable", corpus.texts), ("removed", remove_answers(corpus.texts, corpus.pairs))):
        name = corpus.name if kind == "answerable" else f"{corpus.name} removed"
        ingest = corpus.ingest(texts, store / f"{name} files")
        with verdict.open_store(store, name, ingest, method) as opened:
            ask = _asker(*opened)
            for pair in corpus.pairs:
                part = min(pair.documents)
                yield Row(corpus.name, part, pair.origin, kind, ask(pair.question, frozenset()))
                if kind == "answerable":
                    yield Row(corpus.name, part, pair.origin, "left out", ask(pair.question, pair.documents))
            if kind == "answerable":
                for question in foreign:
                    yield Row(corpus.name, question, "foreign", "foreign", ask(question, frozenset()))
                for row in _read_held_out(corpus.name):
                    kind_asked = f"{row['kind']} {'answerable' if row['is_answerable'] else 'near-miss'}"
                    yield Row(corpus.name, row["id"], "held out", kind_asked, ask(row["question"], frozenset()))


def _measure_judged(folder: Path, store: Path, method: Method) -> Iterator[Row]:
    """Of a collection with judgements: its questions, with and without the judged documents."""
    collection = read_collection(folder)
    with verdict.open_store(store, folder.name, verdict.ingest_file(folder / "corpus.jsonl"), method) as opened:
        ask = _asker(*opened)
        for query in _sample(sorted(collection.queries), _SAMPLE):
            question, judged = collection.queries[query], frozenset(collection.judgements[query])
            yield Row(folder.name, query, "judged", "answerable", ask(question, frozenset()))
            yield Row(folder.name, query, "judged", "removed", ask(question, judged))
    print_to_stderr(f"{folder.name}, {method}")


def _read_held_out(name: str) -> list[dict[str, Any]]:
    rows = map(json.loads, _HELD_OUT_QUESTIONS.read_text("utf-8").splitlines())
    return [row for row in rows if row["collection"] == name]


def _asker(backends: Any, settings: Any) -> Callable[[str, frozenset[str]], Judgement]:
    def ask(question: str, without: frozenset[str]) -> Judgement:
        context = verdict.build_context(backends, settings)
        depth = _READ if without else _KEPT
        ranking = rank_distinct(context, question, Filters(verdict.PROJECT), depth, depth)
        left = verdict.leave_out(ranking, without)
        return judge_answer(context, replace(left, candidates=left.candidates[:_KEPT]))

    return ask


# --- the fit ------------------------------------------------------------------------------------------------


def fit(rows: Sequence[Row], method: Method) -> dict[str, float]:
    """Coefficients by weighted logistic regression with a ridge; the offset is moved, see ``MOVED_TO_HALF``."""
    names = list(rows[0].judgement.signals.features())
    features = np.array([[row.judgement.signals.features()[name] for name in names] for row in rows])
    truth = np.array([row.kind == "answerable" for row in rows], dtype=float)
    fitted = _newton(features, truth, _weigh(rows))
    coefficients = dict(zip(names, map(float, fitted), strict=True))
    half = MOVED_TO_HALF[method]
    coefficients["offset"] += log((1 - half) / half)
    return {name: round(value, 3) for name, value in coefficients.items()}


def _newton(
    features: NDArray[np.float64], truth: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    coefficients = np.zeros(features.shape[1])
    ridge = _RIDGE * np.eye(len(coefficients))
    for _ in range(50):
        chances = 1 / (1 + np.exp(-features @ coefficients))
        gradient = features.T @ (weights * (truth - chances)) - ridge @ coefficients
        curvature = features.T * (weights * chances * (1 - chances)) @ features + ridge
        coefficients = coefficients + np.linalg.solve(curvature, gradient)
    return coefficients


def _weigh(rows: Sequence[Row]) -> NDArray[np.float64]:
    """Weights with which each collection counts alike, and each kind in it by its share."""
    counts = Counter((row.collection, row.kind) for row in rows)
    weights = np.array([_SHARES[row.kind] / counts[row.collection, row.kind] for row in rows])
    return np.asarray(weights * len(rows) / weights.sum())


def _with_value(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.judgement.signals.stated is not None]


# --- figures ------------------------------------------------------------------------------------------------


def summarise(rows: Sequence[Row], method: Method) -> dict[str, Any]:
    """The fitted coefficients, and the figures of the product's coefficients on rows that nothing is fitted to."""
    asked = [row for row in rows if row.origin != "held out"]
    fitted_to = _with_value(row for row in asked if row.is_fitted_to)
    judged = [row for row in asked if not row.is_fitted_to and row.collection != HELD_OUT]
    with_value = _with_value(judged)
    return {
        "fitted": fit(fitted_to, method),
        "questions fitted to": len(fitted_to),
        "by document, all": _compare(judged),
        "by document, with a value": _compare(with_value),
        "by origin": _group(with_value, lambda row: row.origin),
        "by kind": _group(with_value, lambda row: row.judgement.asked_for),
        "by collection, fitted to the others": dict(_fit_to_others(_with_value(asked), method)),
        HELD_OUT: _compare([row for row in asked if row.collection == HELD_OUT]),
        "held out questions": _count_held_out([row for row in rows if row.origin == "held out"]),
    }


def _compare(rows: Sequence[Row]) -> dict[str, Any]:
    """The areas under the curve, answerable questions against others, and the shares that count as answered."""
    own = [row for row in rows if row.kind == "answerable"]
    figures: dict[str, Any] = {"questions": len(own), "answered": _count_answered(own)}
    for kind in _NEGATIVE:
        others = [row for row in rows if row.kind == kind]
        if own and others:
            areas = {
                "today": _area(own, others, lambda row: row.confidence_today),
                "now": _area(own, others, lambda row: row.confidence),
            }
            figures[kind] = {"questions": len(others), "auc": areas, "answered": _count_answered(others)}
    return figures


def _area(own: Sequence[Row], others: Sequence[Row], score: Callable[[Row], float]) -> float:
    return round(area_under_curve([*map(score, own)], [*map(score, others)]), 3)


def _count_answered(rows: Sequence[Row]) -> dict[str, float]:
    """The shares of the questions that count as answered."""
    counts = {
        "today": sum(row.decide(with_value=False) == "answered" for row in rows),
        "now": sum(row.decide(with_value=True) == "answered" for row in rows),
    }
    return {name: round(count / max(1, len(rows)), 3) for name, count in counts.items()}


def _group(rows: Sequence[Row], key: Callable[[Row], str]) -> dict[str, Any]:
    groups = sorted({key(row) for row in rows if row.kind == "answerable"})
    return {group: _compare([row for row in rows if key(row) == group]) for group in groups}


def _fit_to_others(rows: Sequence[Row], method: Method) -> Iterator[tuple[str, dict[str, float]]]:
    """The area of each collection, spans removed, by coefficients that were fitted to all other collections."""
    for name in sorted({row.collection for row in rows}):
        elsewhere = [row for row in rows if row.collection != name and row.kind in _SHARES]
        if not elsewhere:
            return
        fitted = fit(elsewhere, method)

        def score(row: Row, fitted: Mapping[str, float] = fitted) -> float:
            return sum(fitted[each] * value for each, value in row.judgement.signals.features().items())

        here = [row for row in rows if row.collection == name]
        own = [row for row in here if row.kind == "answerable"]
        others = [row for row in here if row.kind == "removed"]
        yield (
            name,
            {"today": _area(own, others, lambda row: row.confidence_today), "now": _area(own, others, score)},
        )


def _count_held_out(rows: Sequence[Row]) -> dict[str, Any]:
    """By kind: how often each verdict is given to the questions that were written as another reader's test."""
    return {
        kind: {
            name: dict(Counter(row.decide(with_value=now) for row in rows if row.kind == kind))
            for name, now in (("today", False), ("now", True))
        }
        for kind in dict.fromkeys(sorted(row.kind for row in rows))
    }


# --- the command --------------------------------------------------------------------------------------------


def run(
    data: Annotated[Path, typer.Argument(help="folder of folders of Markdown and of collections in BEIR format")],
    store: Annotated[Path, typer.Option("--store", help="folder for indexes and rows, kept for the next run")],
    as_json: Json = False,
) -> None:
    """Fit the coefficients of the verdict that look at values, and measure the ones in the product."""
    with report_errors(as_json=as_json):
        store.mkdir(parents=True, exist_ok=True)
        figures = {method: summarise(measure(data, store, base), method) for base, method in METHODS.items()}
    if as_json:
        print_json(figures)
        return
    for method, figure in figures.items():
        print(f"{method}: {json.dumps(figure, indent=1)}")


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app(prog_name="python -m tests.bench.near_misses")
