"""The passages that quotes are taken from: those of a walk, and the best without it."""

from __future__ import annotations

import pytest

from winnow.server.models import Chunk, Document, Hit, Passage
from winnow.server.operations.evidence import _choose_passages
from winnow.server.operations.ranking.candidates import Candidate

DOCUMENT = Document("d", "p", "a.md", "a", "A", "markdown", "0")


def candidate(name: str, score: float, before: float | None) -> Candidate:
    return Candidate(Passage(Chunk(name, "d", 0, (), name, 0, 1, 1), DOCUMENT), Hit(name, score, before=before))


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ((0.9, 0.2, 0.1, 0.8), "abd"),  # d is second by the legs alone
        ((0.9, 0.8, 0.1, 0.2), "ab"),
        ((None, None, None, None), "ab"),  # without a walk
    ],
)
def test_the_best_passages_without_the_walk_follow_those_of_the_walk(
    before: tuple[float | None, ...], expected: str
) -> None:
    ranked = [candidate(*each) for each in zip("abcd", (0.9, 0.8, 0.7, 0.6), before, strict=True)]
    assert "".join(each.passage.chunk.id for each in _choose_passages(ranked, 2)) == expected
