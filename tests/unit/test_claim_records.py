"""The records of claims: their bounds, and the ids of entries and claims."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from winnow.server.claims.records import (
    CLAIM_ID,
    ENTRY_ID,
    Claim,
    Entry,
    Evidence,
    claim_id,
    entry_of,
    new_entry_id,
)

ID = "0123456789ab"
CLAIM = {"id": f"{ID}.1", "text": "Paging is in chapter 3."}
ENTRY = {"id": ID, "project": "books", "topic": "memory/paging", "claims": [CLAIM]}


@pytest.mark.parametrize("topic", ["memory", "memory/paging", "Deep sea/fish & chips/Zürich", "a"])
def test_a_topic_has_levels_that_are_not_empty(topic: str) -> None:
    assert Entry.model_validate({**ENTRY, "topic": topic}).topic == topic


@pytest.mark.parametrize("topic", ["", "/a", "a/", "a//b", " a", "a /b", "a/ b", "a\nb", "a/\x1b[2J", "x" * 201])
def test_any_other_topic_is_refused(topic: str) -> None:
    with pytest.raises(ValidationError):
        Entry.model_validate({**ENTRY, "topic": topic})


@pytest.mark.parametrize(
    "change",
    [
        {"claims": []},
        {"claims": [CLAIM] * 21},
        {"claims": [{**CLAIM, "text": "x" * 301}]},
        {"claims": [{**CLAIM, "confidence": 1.1}]},
        {"claims": [{**CLAIM, "confidence": float("nan")}]},
        {"claims": [{**CLAIM, "evidence": [{"quote": ""}]}]},
        {"claims": [{**CLAIM, "evidence": [{"quote": "x" * 1_001}]}]},
        {"claims": [{**CLAIM, "evidence": [{"quote": "x", "status": "certain"}]}]},
        {"content": "x" * 50_001},
        {"id": "../../etc/pw"},
        {"project": "../books"},
        {"revision": 0},
        {"unknown": 1},
    ],
)
def test_an_entry_beyond_its_bounds_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Entry.model_validate({**ENTRY, **change})


def test_an_entry_survives_json_unchanged() -> None:
    evidence = Evidence(quote="Paging is old.", page=3, start=4, end=18, status="verified")
    entry = Entry.model_validate({**ENTRY, "claims": [Claim(id=f"{ID}.1", text="Old.", evidence=(evidence,))]})
    assert Entry.model_validate_json(entry.model_dump_json()) == entry


def test_ids_of_entries_differ_and_those_of_claims_name_their_entry() -> None:
    ids = {new_entry_id() for _ in range(1_000)}
    assert len(ids) == 1_000
    assert all(re.fullmatch(ENTRY_ID, each) for each in ids)
    first = claim_id(min(ids), 7)
    assert re.fullmatch(CLAIM_ID, first)
    assert entry_of(first) == min(ids)
