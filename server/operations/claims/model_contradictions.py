"""Contradictions that a model of the operator finds (setting ``nli_model``) among candidates of a notebook."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from winnow.server.claims.records import MODEL_PREFIX, ClaimPair, ClaimVerdict
from winnow.server.errors import WinnowError
from winnow.server.operations.base import RequestContext
from winnow.server.runtime.deadlines import (
    CallEnded,
    check_deadline,
    current_deadline,
    deadline_after,
    use_deadline,
)

# What the model takes for a contradiction, in both directions.
LEAST_PROBABILITY = 0.9
# Of one entry, the nearest ones.
MAX_ASKED = 10
# What a call waits at most for the model, and at most half of its remaining time: the rest is for its answer.
_SECONDS = 10.0
_FAILED = "the model of nli_model did not judge all candidates, which stay as they are: {why}"


@dataclass(frozen=True, slots=True)
class ClaimCandidate:
    """Two claims of different entries that are about the same and have no verdict, and their texts."""

    pair: ClaimPair
    text: str
    other_text: str


def find_contradictions(context: RequestContext, candidates: Sequence[ClaimCandidate]) -> list[ClaimVerdict]:
    """The verdicts of the model, those of contradiction alone; a model that fails is a warning of the call."""
    found: list[ClaimVerdict] = []
    try:
        with use_deadline(deadline_after(min(_SECONDS, current_deadline().remaining() / 2))):
            model = context.index.nli_model()
            if model is None:
                return found
            for each in candidates:
                if model.contradiction(each.text, each.other_text) >= LEAST_PROBABILITY:
                    found.append(_verdict(each.pair, model.name))
    except CallEnded:
        check_deadline()  # the call's own time is over as well
        context.warnings.append(_FAILED.format(why="it takes too long"))
    except Exception as error:  # the libraries raise their own, and no write fails for want of a verdict
        why = error.message if isinstance(error, WinnowError) else type(error).__name__
        context.warnings.append(_FAILED.format(why=why))
    return found


def _verdict(pair: ClaimPair, model: str) -> ClaimVerdict:
    return ClaimVerdict(
        claim_id=pair.claim_id,
        other_id=pair.other_id,
        judgement="contradicts",
        by=f"{MODEL_PREFIX}{model}",
        created_at=time.time(),
    )
