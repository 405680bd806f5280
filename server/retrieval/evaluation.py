"""Evaluation of rankings: queries and relevance judgements of a collection, and measures by ir-measures."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from winnow.server.errors import WinnowError

Run = Mapping[str, Mapping[str, float]]  # query id -> document id -> score
Judgements = Mapping[str, Mapping[str, int]]  # query id -> document id -> relevance

Number = TypeVar("Number", int, float)

MAX_DEPTH = 100  # documents of a ranking that are measured
# Name -> measure of ir-measures and its cutoff. Not parsed from text: its parser does not run on Python 3.14.
_MEASURES = {"ndcg@10": ("nDCG", 10), "recall@10": ("R", 10), "recall@100": ("R", 100), "mrr@10": ("RR", 10)}
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class EvaluationCollection:
    """A test collection: ``corpus`` is a JSONL file to index; ``queries`` are those with judgements."""

    name: str
    corpus: Path
    queries: Mapping[str, str]
    judgements: Judgements


def read_collection(folder: Path) -> EvaluationCollection:
    """Read a collection in BEIR format: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv``, in ``folder``.

    ``qrels.tsv`` has the columns query-id, corpus-id and score, with a header. Raises
    ``WinnowError("INVALID_REQUEST")`` that names what is missing or malformed.
    """
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        if not (folder / name).is_file():
            raise WinnowError("INVALID_REQUEST", f"{folder} is no collection: it has no {name}")
    try:
        judgements = _read_judgements(folder / "qrels.tsv")
        lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
        queries = {str(query["_id"]): str(query["text"]) for query in map(json.loads, filter(str.strip, lines))}
    except (ValueError, KeyError, TypeError) as error:
        raise WinnowError("INVALID_REQUEST", f"{folder} is malformed: {error!r}") from error
    judged = {query: text for query, text in queries.items() if query in judgements}
    if not judged:
        raise WinnowError("INVALID_REQUEST", f"{folder} has no query with a judgement")
    return EvaluationCollection(folder.resolve().name, folder / "corpus.jsonl", judged, judgements)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The result of one call: the documents whose text it returned, and the tokens of the answer."""

    documents: frozenset[str]
    tokens: int


def compute_measures(run: Run, judgements: Judgements) -> dict[str, float]:
    """Compute nDCG@10 (Järvelin & Kekäläinen 2002), Recall@10, Recall@100, MRR@10 and all_gold@10.

    all_gold@10 is the share of queries with all relevant documents in the top 10. Every query of ``run`` counts.
    Raises ``WinnowError("INVALID_REQUEST")`` if ir-measures is not installed.
    """
    try:
        import ir_measures
    except ImportError:
        raise WinnowError(
            "INVALID_REQUEST", "winnow eval needs ir-measures; run: pip install 'winnow-mcp[eval]'"
        ) from None
    judged = {query: dict(judgements[query]) for query in run}
    measures = {name: getattr(ir_measures, kind) @ cutoff for name, (kind, cutoff) in _MEASURES.items()}
    values = ir_measures.calc_aggregate(measures.values(), judged, {query: dict(run[query]) for query in run})
    by_name = {name: round(float(values[measure]), _DIGITS) for name, measure in measures.items()}
    return {**by_name, "all_gold@10": round(_share_complete(run, judged), _DIGITS)}


def best_by_document(hits: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Score documents by their best chunk, and keep the best ``MAX_DEPTH``."""
    best: dict[str, float] = {}
    for document, score in hits:
        best[document] = max(score, best.get(document, score))
    return dict(sorted(best.items(), key=lambda pair: -pair[1])[:MAX_DEPTH])


def summarise_recall(results: Mapping[str, Retrieved], judgements: Judgements) -> dict[str, Any]:
    """The mean recall of relevant documents, the share of queries with all of them, and tokens per answer."""
    recalls = [
        len(result.documents & judgements[query].keys()) / len(judgements[query])
        for query, result in results.items()
    ]
    tokens = [result.tokens for result in results.values()]
    return {
        "recall": round(sum(recalls) / len(recalls), _DIGITS),
        "all_gold": round(sum(recall == 1 for recall in recalls) / len(recalls), _DIGITS),
        "tokens": {"p50": percentile(tokens, 0.5), "p95": percentile(tokens, 0.95)},
    }


def percentile(values: Iterable[Number], share: float) -> Number:
    """The value below which ``share`` of the values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def _read_judgements(path: Path) -> dict[str, dict[str, int]]:
    with path.open(encoding="utf-8", newline="") as file:
        judgements: dict[str, dict[str, int]] = {}
        for row in csv.DictReader(file, delimiter="\t"):
            if int(row["score"]) > 0:
                judgements.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    return judgements


def _share_complete(run: Run, judged: Judgements) -> float:
    def is_complete(query: str) -> bool:
        top = sorted(run[query], key=lambda document: -run[query][document])[:10]
        return judged[query].keys() <= set(top)

    return sum(map(is_complete, run)) / len(run)
