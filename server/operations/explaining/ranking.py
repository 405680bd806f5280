"""``kb.explain_ranking``: how the passages of a search got their ranks, and why a document did not come.

The search is answered by the operation that answers it otherwise, with a record in its context
(``operations/ranking/recording.py``). An explanation reads that record: it cannot disagree with the ranking.

No tool and no script calls it: it is for the user of the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from winnow.server.contracts.evidence import MAX_QUOTES, RetrieveEvidence
from winnow.server.contracts.kb import ExplainedTool, ExplainRanking, KbSearch, KbSearchOptions
from winnow.server.contracts.search import SemanticSearch
from winnow.server.errors import WinnowError
from winnow.server.operations.answer_judgement import Judgement, judge_answer
from winnow.server.operations.base import SEARCH_SECONDS, Answer, RankingCache, RequestContext
from winnow.server.operations.declaration import Operation
from winnow.server.operations.evidence import retrieve_evidence
from winnow.server.operations.explaining.documents import explain_document
from winnow.server.operations.explaining.passages import explain_passages
from winnow.server.operations.explaining.records import (
    ExplainedVerdict,
    LegSummary,
    QueryReading,
    RankedPassage,
    RankingExplanation,
    VerdictSignal,
)
from winnow.server.operations.explaining.words import correct_query, find_missing_words
from winnow.server.operations.kb import kb_search
from winnow.server.operations.ranking.candidates import CandidateList, generation_of
from winnow.server.operations.ranking.recording import RankingRecord
from winnow.server.operations.search import semantic_search
from winnow.server.retrieval.answer_verdict import COEFFICIENTS
from winnow.server.retrieval.queries import ParsedQuery

_LEGS = ("dense", "lexical")
_DIGITS = 4


def explain_ranking(context: RequestContext, request: ExplainRanking) -> RankingExplanation:
    """Explain the ranking of a search: its rows, and one document whether it came or not.

    Raises what the search raises, and ``WinnowError("INVALID_REQUEST")`` for a title that several documents have.
    """
    record = RankingRecord()
    recorded = replace(context, rankings=RankingCache(), record=record)
    answer = _ANSWERS[request.tool](recorded, request)
    asked = record.asked
    if asked is None or not record.rankings:
        raise ValueError("the search made no ranking")
    first = record.rankings[0]
    judgement = record.judgement or judge_answer(context, _judged(context, record, asked))
    rows = _explain_rows(recorded, request, answer)
    missing = find_missing_words(context, asked, judgement.missing, first.hits)
    corrected = correct_query(asked.text, missing)
    return RankingExplanation(
        tool=request.tool,
        project=asked.filters.project,
        query=QueryReading(asked.text, asked.phrases, asked.fields, asked.unknown, corrected),
        search_mode=first.legs,
        fusion=first.fusion,
        walked=first.walked,
        legs=tuple(
            LegSummary(
                step.name,
                int(step.facts["depth"]),
                len(step.scores),
                max(step.scores.values(), default=None),
                min(step.scores.values(), default=None),
            )
            for step in first.steps
            if step.name in _LEGS
        ),
        steps=tuple({"step": step.name, **step.facts} for step in first.steps if step.name not in _LEGS),
        ranked=len(record.rankings[-1].hits),
        results=rows,
        missing_words=missing,
        verdict=_explain_verdict(judgement),
        document=explain_document(context, request, record, rows, corrected) if request.document else None,
        warnings=answer.warnings,
    )


def _answer_semantic_search(context: RequestContext, request: ExplainRanking) -> Answer:
    asked = SemanticSearch(
        query=request.query,
        vendor_filter=request.vendor_filter,
        min_score=request.min_score,
        filters=request.filters,
        scope=request.scope,
        syntax=request.syntax,
        **_given(top_k=request.top_k),
    )
    return semantic_search(context, asked)


def _answer_kb_search(context: RequestContext, request: ExplainRanking) -> Answer:
    asked = KbSearch(
        query=request.query,
        filters=request.filters,
        scope=request.scope,
        syntax=request.syntax,
        options=KbSearchOptions(**_given(mode=request.mode, max_per_doc=request.max_per_doc)),
        **_given(top_k=request.top_k, page_size=request.top_k),
    )
    return kb_search(context, asked)


def _answer_evidence(context: RequestContext, request: ExplainRanking) -> Answer:
    if request.top_k is not None and request.top_k > MAX_QUOTES:
        raise WinnowError("INVALID_REQUEST", f"top_k: kb_retrieve_evidence takes 1 to {MAX_QUOTES}")
    asked = RetrieveEvidence(
        question=request.query,
        filters=request.filters,
        scope=request.scope,
        syntax=request.syntax,
        **_given(top_k=request.top_k, mode=request.mode),
    )
    return retrieve_evidence(context, asked)


def _given(**arguments: Any) -> dict[str, Any]:
    """The arguments that were given; the explained tool has its own default for each other one."""
    return {name: value for name, value in arguments.items() if value is not None}


_ANSWERS: Mapping[ExplainedTool, Callable[[RequestContext, ExplainRanking], Answer]] = MappingProxyType(
    {
        "semantic_search": _answer_semantic_search,
        "kb_search": _answer_kb_search,
        "kb_retrieve_evidence": _answer_evidence,
    }
)


def _judged(context: RequestContext, record: RankingRecord, asked: ParsedQuery) -> CandidateList:
    """The passages that the search chose, as the judgement takes them."""
    first = record.rankings[0]
    return CandidateList(
        tuple(record.chosen),
        first.legs,
        first.fusion,
        generation_of(context, asked.filters),
        relevance=first.relevance,
        asked=asked,
    )


def _explain_rows(context: RequestContext, request: ExplainRanking, answer: Answer) -> tuple[RankedPassage, ...]:
    """The rows of the answer in order; of evidence, the passages that were read, with their quotes."""
    if request.tool == "kb_retrieve_evidence":
        chunks = [candidate.passage.chunk.id for candidate in _record_of(context).chosen]
        quoted = [row["section_id"] for row in answer.payload["quotes"]]
        quotes: Mapping[str, int] | None = {chunk: quoted.count(chunk) for chunk in chunks}
    else:
        chunks, quotes = list(_row_ids(answer.payload)), None
    passages = {each.passage.chunk.id: each.passage for each in _record_of(context).chosen}
    return explain_passages(_record_of(context), [passages[chunk] for chunk in chunks], is_row=True, quotes=quotes)


def _record_of(context: RequestContext) -> RankingRecord:
    if context.record is None:
        raise ValueError("the rankings of this request were not recorded")
    return context.record


def _row_ids(payload: Mapping[str, Any]) -> Sequence[str]:
    if "ids" in payload:
        return [str(id) for id in payload["ids"]]
    return [str(row["section_id"] if "section_id" in row else row["id"]) for row in payload["results"]]


def _explain_verdict(judgement: Judgement) -> ExplainedVerdict:
    stated, signals = judgement.to_payload(), judgement.signals
    coefficients = COEFFICIENTS[signals.method]
    return ExplainedVerdict(
        stated["verdict"],
        stated["confidence"],
        tuple(
            VerdictSignal(name, round(value, _DIGITS), round(coefficients[name] * value, _DIGITS))
            for name, value in signals.features().items()
        ),
        signals.unstated,
    )


def answer_explanation(context: RequestContext, request: ExplainRanking) -> Answer:
    """The explanation as an answer."""
    explanation = explain_ranking(context, request)
    return Answer(explanation.to_payload(), "metadata", len(explanation.results), 0, tuple(explanation.warnings))


KB_EXPLAIN_RANKING = Operation(
    "kb.explain_ranking", ExplainRanking, answer_explanation, in_scripts=False, seconds=SEARCH_SECONDS
)
