"""The record of the rankings of one request: what an explanation is made from.

A request whose context has a record is answered as any other, and its rankings tell how they came about. What
explains a ranking reads the record, and ranks nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from winnow.server.models import Ranking

if TYPE_CHECKING:
    from winnow.server.operations.answer_judgement import Judgement
    from winnow.server.operations.ranking.candidates import Candidate
    from winnow.server.retrieval.queries import ParsedQuery

# Why a ranked passage was passed over: the catalogue no longer has it, the filters do not admit it as it is now,
# its document has enough rows.
PassedOver = Literal["catalogue", "filters", "per_document"]


@dataclass(slots=True)
class RankingRecord:
    """What the operations of one request note of their rankings.

    ``rankings``: in order, each deeper than the one before; a passage is read from the first that has it.
    ``passed_over``: ranked passages that were left out, by id. ``chosen``: the passages for the answer, in order.
    ``judgement``: of the answer, where the operation judges it.
    """

    asked: ParsedQuery | None = None
    rankings: list[Ranking] = field(default_factory=list)
    passed_over: dict[str, PassedOver] = field(default_factory=dict)
    chosen: Sequence[Candidate] = ()
    judgement: Judgement | None = None

    def ranking_of(self, chunk: str) -> Ranking | None:
        """The ranking that a passage was read from, or would be; None if none has it."""
        return next((each for each in self.rankings if any(hit.chunk_id == chunk for hit in each.hits)), None)
