"""Passages with their ranks and scores at each step, read from the record of a ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from winnow.server.bibliographies.locators import cited_fields
from winnow.server.models import Hit, Passage, Ranking, RankingStep
from winnow.server.operations.explaining.records import LegScore, RankedPassage, StepScore
from winnow.server.operations.kb import title_of
from winnow.server.operations.ranking.recording import RankingRecord
from winnow.server.text.printable import one_line

_LEGS = ("dense", "lexical")
_DIGITS = 6


def explain_passages(
    record: RankingRecord,
    passages: Sequence[Passage],
    *,
    is_row: bool = False,
    quotes: Mapping[str, int] | None = None,
    rated: Mapping[str, Hit] = MappingProxyType({}),
) -> tuple[RankedPassage, ...]:
    """These passages, each by the ranking that it was read from. ``is_row``: they are the rows of the answer.

    ``rated``: the scores of passages that no ranking has.
    """
    ranks = _Ranks()
    return tuple(
        _explain(record, ranks, passage, number if is_row else None, quotes, rated)
        for number, passage in enumerate(passages, start=1)
    )


class _Ranks:
    """The ranks of chunks by step, counted from 1; each step is numbered once."""

    def __init__(self) -> None:
        self._known: dict[int, dict[str, int]] = {}

    def of(self, step: RankingStep, chunk: str) -> int | None:
        """The rank of a chunk after a step; None where the step did not return it."""
        if id(step) not in self._known:
            self._known[id(step)] = {name: rank for rank, name in enumerate(step.scores, start=1)}
        return self._known[id(step)].get(chunk)


def _explain(
    record: RankingRecord,
    ranks: _Ranks,
    passage: Passage,
    row: int | None,
    quotes: Mapping[str, int] | None,
    rated: Mapping[str, Hit],
) -> RankedPassage:
    chunk = passage.chunk.id
    ranking = record.ranking_of(chunk)
    hit = find_hit(ranking, chunk) if ranking else rated.get(chunk)
    steps = ranking.steps if ranking else ()
    legs = _leg_scores(steps, ranks, chunk, hit) if ranking else _rated_legs(hit)
    return RankedPassage(
        section_id=chunk,
        document_id=passage.document.id,
        file=one_line(passage.document.uri, 1_000),
        title=title_of(passage),
        place=place_of(passage),
        rank=row,
        ranked=ranks.of(steps[-1], chunk) if steps else None,
        score=hit.score if hit else None,
        legs=tuple(legs),
        steps=tuple(_step_scores(steps, ranks, chunk)),
        quotes=quotes.get(chunk) if quotes is not None else None,
    )


def find_hit(ranking: Ranking, chunk: str) -> Hit | None:
    """The hit of a chunk, if it is among those of the ranking."""
    return next((hit for hit in ranking.hits if hit.chunk_id == chunk), None)


def place_of(passage: Passage) -> str:
    """The page of a passage, or the heading above it; "" where it has neither."""
    located = cited_fields(passage).get("locator")
    headings = passage.chunk.heading_path
    return str(located) if located else one_line(headings[-1], 200) if headings else ""


def _leg_scores(steps: Sequence[RankingStep], ranks: _Ranks, chunk: str, hit: Hit | None) -> Iterator[LegScore]:
    filled = {"dense": hit.dense, "lexical": hit.lexical} if hit else {}
    shares = next((step.parts for step in steps if step.name == "fusion"), {})
    for step in steps:
        if step.name in _LEGS:
            score = filled.get(step.name)
            yield LegScore(
                step.name,
                ranks.of(step, chunk),
                step.scores.get(chunk) if score is None else score,
                _rounded(shares.get(step.name, {}).get(chunk)),
            )


def _rated_legs(hit: Hit | None) -> Iterator[LegScore]:
    for leg, score in (("dense", hit.dense), ("lexical", hit.lexical)) if hit else ():
        if score is not None:
            yield LegScore(leg, None, score, None)


def _step_scores(steps: Sequence[RankingStep], ranks: _Ranks, chunk: str) -> Iterator[StepScore]:
    for step in steps:
        rank = ranks.of(step, chunk)
        if step.name not in _LEGS and rank is not None:
            parts = {name: round(of[chunk], _DIGITS) for name, of in step.parts.items() if chunk in of}
            yield StepScore(step.name, rank, step.scores[chunk], parts)


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, _DIGITS)
