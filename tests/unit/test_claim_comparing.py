"""Novelty, friction, evidence entropy and status of entries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.claims.friction import (
    claim_friction,
    compare_entries,
    contradictions,
    evidence_entropy,
    integration_status,
    pair_friction,
)
from winnow.server.claims.records import Claim, ClaimVerdict, Comparison, Entry, Evidence, Judgement, Stance

A, B = "aaaaaaaaaaaa", "bbbbbbbbbbbb"
STANCES = st.sampled_from(["supports", "refutes", "mentions"])
EVIDENCE = st.lists(st.tuples(st.sampled_from(["d1", "d2", "d3"]), STANCES), max_size=8)


def evidence(*pairs: tuple[str, Stance], status: str = "verified") -> tuple[Evidence, ...]:
    return tuple(Evidence(document_id=id, quote="q", stance=stance, status=status) for id, stance in pairs)  # type: ignore[arg-type]


def entry(id: str, *claims: tuple[Evidence, ...]) -> Entry:
    made = tuple(Claim(id=f"{id}.{number}", text="t", evidence=each) for number, each in enumerate(claims, 1))
    return Entry(id=id, project="p", topic="t", claims=made)


def verdict(judgement: Judgement = "contradicts", at: float = 1.0, ours: int = 1, theirs: int = 1) -> ClaimVerdict:
    return ClaimVerdict(claim_id=f"{A}.{ours}", other_id=f"{B}.{theirs}", judgement=judgement, created_at=at)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], 0.0),
        ([("d1", "supports")], 0.0),
        ([("d1", "refutes"), ("d2", "mentions")], 0.0),
        ([("d1", "supports"), ("d2", "refutes")], 1.0),
        ([("d1", "supports"), ("d2", "supports"), ("d3", "refutes")], 0.667),
        ([("d1", "supports"), ("d1", "supports"), ("d2", "refutes")], 1.0),  # one vote a document
        ([("d1", "supports"), ("d1", "refutes")], 1.0),  # half a vote for each
        ([("d1", "supports"), ("d1", "mentions"), ("d2", "refutes")], 1.0),
    ],
)
def test_friction_of_a_claim_weighs_documents(pairs: list[tuple[str, Stance]], expected: float) -> None:
    assert claim_friction(Claim(id=f"{A}.1", text="t", evidence=evidence(*pairs))).value == expected


def test_evidence_that_does_not_stand_has_no_vote() -> None:
    mixed = (*evidence(("d1", "supports")), *evidence(("d2", "refutes"), status="drifted"))
    found = claim_friction(Claim(id=f"{A}.1", text="t", evidence=mixed))
    assert (found.value, found.supports, found.refutes) == (0.0, 1, 0)
    assert found.why == (
        "0, because one side has no verified quote: 1 for, 0 against, by documents with verified quotes"
    )


def test_what_supports_a_contradicting_claim_refutes_this_one() -> None:
    ours, theirs = entry(A, evidence(("d1", "supports"))), entry(B, evidence(("d2", "supports")))
    assert pair_friction(ours, theirs, [verdict()]).value == 1.0
    assert pair_friction(ours, theirs, [verdict("agrees")]).value == 0.0
    assert pair_friction(ours, entry(B, ()), [verdict()]).value == 0.0
    assert pair_friction(theirs, ours, [verdict()]).value == 1.0


def test_the_latest_verdict_about_a_pair_counts() -> None:
    assert contradictions([verdict(at=2.0), verdict("unrelated", at=3.0), verdict(at=1.0)]) == []
    assert contradictions([verdict("agrees", at=1.0), verdict(at=2.0)]) == [
        (f"{A}.1", f"{B}.1"),
        (f"{B}.1", f"{A}.1"),
    ]


def test_entropy_is_one_minus_the_largest_cosine_and_near_claims_are_candidates() -> None:
    ours, theirs = entry(A, (), ()), entry(B, (), ())
    vectors = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    others = np.array([[0.8, 0.6], [-1.0, 0.0]], np.float32)
    found = compare_entries(ours, vectors, theirs, others)
    assert found.entropy == pytest.approx(0.2)
    assert [(pair.claim_id, pair.other_id) for pair in found.pairs] == [(f"{A}.1", f"{B}.1"), (f"{A}.2", f"{B}.1")]
    assert [pair.similarity for pair in found.pairs] == pytest.approx([0.8, 0.6])


def test_claims_are_as_new_as_their_cosine_is_near_that_of_unrelated_texts() -> None:
    vectors, others = np.array([[1.0, 0.0]], np.float32), np.array([[0.8, 0.6]], np.float32)
    unlike = compare_entries(entry(A, ()), vectors, entry(B, ()), others, background=0.75)
    alike = compare_entries(entry(A, ()), vectors, entry(B, ()), others, background=0.5)
    assert (unlike.entropy, unlike.pairs) == (pytest.approx(0.8), ())
    assert (alike.entropy, [pair.similarity for pair in alike.pairs]) == (pytest.approx(0.4), [pytest.approx(0.6)])
    same = compare_entries(entry(A, ()), vectors, entry(B, ()), vectors, background=1.0)
    assert (same.entropy, [pair.similarity for pair in same.pairs]) == (0.0, [1.0])


def test_opposite_vectors_are_new_and_no_candidates() -> None:
    found = compare_entries(entry(A, ()), np.array([[1.0]]), entry(B, ()), np.array([[-1.0]]))
    assert (found.entropy, found.pairs) == (1.0, ())


def test_evidence_entropy_has_a_prior_and_counts_documents() -> None:
    assert evidence_entropy(()).value == 1.0
    one = evidence_entropy(evidence(("d1", "supports"), ("d1", "supports")))
    expected = -(0.5 * math.log(0.5) + 2 * 0.25 * math.log(0.25)) / math.log(3)
    assert (one.value, one.documents) == (round(expected, 3), 1)
    assert evidence_entropy(evidence(("d1", "supports"), ("d2", "refutes"), ("d3", "mentions"))).value == 1.0


def comparison(friction: float) -> Comparison:
    return Comparison(entry_id=A, other_id=B, entropy=0.5, friction=friction)


@pytest.mark.parametrize(
    ("claims", "frictions", "is_compared", "expected"),
    [
        ([evidence(("d1", "supports"))], [], False, "probation"),
        ([()], [0.9], True, "probation"),
        ([evidence(("d1", "supports"), status="missing")], [0.0], True, "probation"),
        ([evidence(("d1", "refutes"))], [], True, "probation"),
        ([evidence(("d1", "supports"), status="drifted"), evidence(("d1", "supports"))], [], True, "probation"),
        ([evidence(("d1", "refutes"), status="drifted"), evidence(("d1", "supports"))], [], True, "integrated"),
        ([(), evidence(("d1", "supports"))], [], True, "integrated"),
        ([evidence(("d1", "supports"))], [], True, "integrated"),
        ([evidence(("d1", "supports"))], [0.1, 0.29], True, "integrated"),
        ([evidence(("d1", "supports"))], [0.1, 0.3], True, "contested"),
        ([evidence(("d1", "supports"), ("d2", "refutes"))], [], True, "contested"),
    ],
)
def test_status_follows_from_comparison_support_and_friction(
    claims: list[tuple[Evidence, ...]], frictions: list[float], is_compared: bool, expected: str
) -> None:
    found = integration_status(
        entry(A, *claims), [comparison(friction) for friction in frictions], is_compared=is_compared
    )
    assert found.status == expected
    assert found.friction == max([0.0, *frictions, *(1.0 for claim in claims if len(claim) == 2)])


def test_a_status_says_why() -> None:
    found = integration_status(entry(A, evidence(("d1", "supports"))), [comparison(0.5)], is_compared=True)
    assert found.why == f"friction 0.50 of the comparison with entry {B} is 0.3 or more"


@given(pairs=EVIDENCE)
def test_all_values_are_shares_and_the_order_of_evidence_does_not_matter(pairs: list[tuple[str, Stance]]) -> None:
    claim, turned = (Claim(id=f"{A}.1", text="t", evidence=evidence(*each)) for each in (pairs, pairs[::-1]))
    friction, mixture = claim_friction(claim), evidence_entropy(claim.evidence)
    assert friction == claim_friction(turned)
    assert 0 <= friction.value <= 1
    assert 0 < mixture.value <= 1
    assert mixture.documents == len({document for document, _ in pairs})
