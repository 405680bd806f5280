"""How good is a ranking: a collection's queries, its judgements, and the measures. Metrics by ir-measures."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from server.errors import WinnowError

Run = Mapping[str, Mapping[str, float]]  # query id -> document id -> score
Judgements = Mapping[str, Mapping[str, int]]  # query id -> document id -> relevance

Number = TypeVar("Number", int, float)

DEEPEST = 100  # documents that a measure looks at
# Figure -> measure of ir-measures and its cutoff. Not parsed from text: its parser ends with Python 3.13.
_MEASURES = {"ndcg@10": ("nDCG", 10), "recall@10": ("R", 10), "recall@100": ("R", 100), "mrr@10": ("RR", 10)}
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class EvaluationCollection:
    """``corpus`` is a JSONL file to index; only queries that somebody judged are kept."""

    name: str
    corpus: Path
    queries: Mapping[str, str]
    judgements: Judgements


def read_collection(folder: Path) -> EvaluationCollection:
    """``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv`` (query-id, corpus-id, score; with a header).

    Raises ``WinnowError("INVALID_REQUEST")`` that names what is missing or malformed.
    """
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        if not (folder / name).is_file():
            raise WinnowError("INVALID_REQUEST", f"{folder} is no collection: it has no {name}")
    try:
        judgements = _judgements(folder / "qrels.tsv")
        lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
        queries = {str(query["_id"]): str(query["text"]) for query in map(json.loads, filter(str.strip, lines))}
    except (ValueError, KeyError, TypeError) as error:
        raise WinnowError("INVALID_REQUEST", f"{folder} is malformed: {error!r}") from error
    asked = {query: text for query, text in queries.items() if query in judgements}
    if not asked:
        raise WinnowError("INVALID_REQUEST", f"{folder} has no query with a judgement")
    return EvaluationCollection(folder.resolve().name, folder / "corpus.jsonl", asked, judgements)


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What one call brought for a query: the documents that were shown in part, and the tokens of the answer."""

    documents: frozenset[str]
    tokens: int


def measure(run: Run, judgements: Judgements) -> dict[str, float]:
    """nDCG@10, Recall@10, Recall@100, MRR@10, and the share of queries with all relevant documents in the top 10.

    Every query of ``run`` counts. Raises ``WinnowError("INVALID_REQUEST")`` where ir-measures is not installed.
    """
    try:
        import ir_measures
    except ImportError:
        raise WinnowError(
            "INVALID_REQUEST", "winnow eval needs ir-measures; run: pip install 'winnow-mcp[eval]'"
        ) from None
    judged = {query: dict(judgements[query]) for query in run}
    measures = {name: getattr(ir_measures, kind) @ cutoff for name, (kind, cutoff) in _MEASURES.items()}
    found = ir_measures.calc_aggregate(measures.values(), judged, {query: dict(run[query]) for query in run})
    figures = {name: round(float(found[one]), _DIGITS) for name, one in measures.items()}
    return {**figures, "all_gold@10": round(_all_gold(run, judged), _DIGITS)}


def by_document(hits: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Documents scored by their best chunk, the best ``DEEPEST`` of them."""
    best: dict[str, float] = {}
    for document, score in hits:
        best[document] = max(score, best.get(document, score))
    return dict(sorted(best.items(), key=lambda pair: -pair[1])[:DEEPEST])


def recall_of(found: Mapping[str, Retrieved], judgements: Judgements) -> dict[str, Any]:
    """Mean recall of the judged documents, the share of queries with all of them, and the tokens that it took."""
    recalls = [
        len(one.documents & judgements[query].keys()) / len(judgements[query]) for query, one in found.items()
    ]
    tokens = [one.tokens for one in found.values()]
    return {
        "recall": round(sum(recalls) / len(recalls), _DIGITS),
        "all_gold": round(sum(recall == 1 for recall in recalls) / len(recalls), _DIGITS),
        "tokens": {"p50": percentile(tokens, 0.5), "p95": percentile(tokens, 0.95)},
    }


def percentile(values: Iterable[Number], share: float) -> Number:
    """The value below which ``share`` of the values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    with path.open(encoding="utf-8", newline="") as file:
        found: dict[str, dict[str, int]] = {}
        for row in csv.DictReader(file, delimiter="\t"):
            if int(row["score"]) > 0:
                found.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    return found


def _all_gold(run: Run, judged: Judgements) -> float:
    def is_complete(query: str) -> bool:
        top = sorted(run[query], key=lambda document: -run[query][document])[:10]
        return judged[query].keys() <= set(top)

    return sum(map(is_complete, run)) / len(run)
