"""The explanation of a ranking as frozen records; ``to_payload`` is its documented JSON (docs/searching.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

# Why a document came, or did not. The order is that in which the reasons are looked for.
Outcome = Literal[
    "came",
    "not_indexed",
    "other_project",
    "filtered",
    "no_text",
    "same_document",
    "min_score",
    "budget",
    "below_top_k",
    "below_depth",
    "no_vectors",
    "no_match",
]


@dataclass(frozen=True, slots=True)
class LegSummary:
    """One leg: how many passages it was asked for and returned, its best score and its last one."""

    leg: str
    depth: int
    returned: int
    best: float | None
    last: float | None


@dataclass(frozen=True, slots=True)
class LegScore:
    """The place of a passage in one leg.

    ``rank`` is None where the leg did not return it, and its score was filled in. ``share``: what the leg adds to
    the score of the fusion.
    """

    leg: str
    rank: int | None
    score: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class StepScore:
    """The place of a passage after one step of the ranking, and what each part of the step gave it."""

    step: str
    rank: int
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage, its place in the answer, and how it got there.

    ``rank`` is that of the row, None for a passage that did not come; ``ranked`` its place among all passages
    ranked, None below the deepest look. ``place``: its page, or the heading above it. ``quotes`` counts those that
    ``kb_retrieve_evidence`` took from it.
    """

    section_id: str
    document_id: str
    file: str
    title: str
    place: str
    rank: int | None
    ranked: int | None
    score: float | None
    legs: Sequence[LegScore]
    steps: Sequence[StepScore]
    quotes: int | None = None


@dataclass(frozen=True, slots=True)
class QueryReading:
    """The query as it was read: the text that was ranked by, phrases, and fields that are filters or words.

    ``corrected``: the text with near words in place of those that no document has, "" where there are none.
    """

    text: str
    phrases: Sequence[str]
    filters: Sequence[str]
    read_as_words: Sequence[str]
    corrected: str


@dataclass(frozen=True, slots=True)
class MissingWord:
    """A word of the query that no document in scope has, and words near it that documents have."""

    word: str
    nearest: Sequence[str]


@dataclass(frozen=True, slots=True)
class VerdictSignal:
    """A signal of the verdict, and its part in the sum that the confidence is computed from."""

    signal: str
    value: float
    part: float


@dataclass(frozen=True, slots=True)
class ExplainedVerdict:
    """The judgement of ``kb_retrieve_evidence`` whether the rows answer the query, and its signals."""

    verdict: str
    confidence: float
    signals: Sequence[VerdictSignal]
    unstated: str | None


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """The reason why one document came or did not: the outcome, a sentence, and what to do next.

    ``passages`` are its best ones, whether they came or not. ``words`` and ``lacks``: words of the query that it
    has and lacks. ``project``: the project that has it, "" if none in reach has.
    """

    asked: str
    outcome: Outcome
    sentence: str
    next: str
    file: str = ""
    document_id: str = ""
    project: str = ""
    passages: Sequence[RankedPassage] = ()
    words: Sequence[str] = ()
    lacks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RankingExplanation:
    """The explanation of a ranking. ``steps``: those after the legs, in order, with their weights and limits."""

    tool: str
    project: str
    query: QueryReading
    search_mode: str
    fusion: str
    walked: bool
    legs: Sequence[LegSummary]
    steps: Sequence[Mapping[str, Any]]
    ranked: int
    results: Sequence[RankedPassage]
    missing_words: Sequence[MissingWord]
    verdict: ExplainedVerdict
    document: DocumentOutcome | None = None
    warnings: Sequence[str] = field(default=())

    def to_payload(self) -> dict[str, Any]:
        """The explanation as JSON values, without the warnings, which an answer has beside its payload."""
        return {name: _to_json(value) for name, value in asdict(self).items() if name != "warnings"}


def _to_json(value: Any) -> Any:
    """The value with lists in place of tuples, as a program gets it from JSON."""
    if isinstance(value, dict):
        return {name: _to_json(each) for name, each in value.items()}
    return [_to_json(each) for each in value] if isinstance(value, tuple | list) else value
