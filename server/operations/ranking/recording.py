"""The record of the rankings of one request: what an explanation is made from.

A request whose context has a record is answered as any other, and its rankings tell how they came about. What
explains a ranking reads the record, and ranks nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from winnow.server.models import Ranking

if TYPE_CHECKING:
    from winnow.server.operations.answer_judgement import Judgement
    from winnow.server.operations.ranking.candidates import Candidate
    from winnow.server.retrieval.queries import ParsedQuery


@dataclass(slots=True)
class RankingRecord:
    """The notes of the operations of one request on their rankings.

    ``rankings``: in order, each deeper than the one before; a passage is read from the first that has it.
    ``chosen``: the passages for the answer, in order. ``judgement``: of the answer, where the operation judges it.
    """

    asked: ParsedQuery | None = None
    rankings: list[Ranking] = field(default_factory=list)
    chosen: Sequence[Candidate] = ()
    judgement: Judgement | None = None

    def ranking_of(self, chunk: str) -> Ranking | None:
        """The ranking that a passage was read from, or would be; None if none has it."""
        return next((each for each in self.rankings if any(hit.chunk_id == chunk for hit in each.hits)), None)
