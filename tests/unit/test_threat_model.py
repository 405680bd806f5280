"""The threat model names every family of attacks, and only existing ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ATTACKS = ROOT / "security" / "attacks"
PAGE = (ROOT / "security" / "threat-model.md").read_text(encoding="utf-8")
FAMILIES = sorted(folder.name for folder in ATTACKS.iterdir() if any(folder.glob("*.py")))

# `family/` and `family/name`, as on the page.
_NAMED = sorted(set(re.findall(r"`([a-z_]+)/([a-z0-9_]*)`", PAGE)) - {("attacks", "")})
_ADVISORY = re.compile(r"\b(?:CVE-\d{4}-\d{4,}|GHSA(?:-[0-9a-z]{4}){3}|PYSEC-\d{4}-\d+)\b")
_ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and _ADVISORY.search(line)]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_of_attacks_answers_to_a_threat(family: str) -> None:
    threats = PAGE[PAGE.index("## Threats") : PAGE.index("## Advisories")]
    assert f"`{family}/" in threats


@pytest.mark.parametrize(("family", "name"), _NAMED)
def test_what_the_threat_model_names_is_there(family: str, name: str) -> None:
    assert family in FAMILIES
    assert not name or (ATTACKS / family / f"{name}.py").is_file()


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: str(_ADVISORY.findall(row)[0]))
def test_an_advisory_is_answered_by_an_attack_or_by_construction(row: str) -> None:
    tested_by = row.rstrip("| ").rpartition("|")[2]
    assert re.search(r"`[a-z_]+/[a-z0-9_]+`", tested_by) or "by construction" in tested_by


def test_no_advisory_is_answered_twice_with_different_words() -> None:
    first = [identity for row in _ROWS for identity in _ADVISORY.findall(row.split("|")[1])]
    assert sorted(first) == sorted(set(first))
