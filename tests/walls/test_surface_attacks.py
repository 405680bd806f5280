"""Attacks on files, settings, transports and rendered text: each fails here.

That each succeeds on its control is tested by ``test_attack_controls``, which is rare: attacks seldom change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from tests.over_engine import attack_over_engines
from winnow.security import audit, suite
from winnow.security.audit import Trial
from winnow.security.suite import Attack

ATTACKS = [attack for attack in suite.read_attacks() if not attack.is_script]
# Surface -> its least number of attacks.
FAMILIES: Mapping[str, int] = {
    "configuration": 16,
    "ingest_bombs": 23,
    "reader_children": 25,
    "rendering": 17,
    "transport": 39,
    "scope": 1,
    "shown_pages": 8,
    "console": 8,
    "documents": 9,
    "scanning": 8,
    "session_state": 3,
    "text_budget": 2,
    "watching": 11,
    "jobs": 10,
    "archives": 7,
    "bibliographies": 6,
    "research": 3,
    "claims": 5,
    "prompt_packs": 5,
    "quotes": 7,
    "tool_packs": 13,
    "backups": 3,
    "forged_results": 1,
}
pytestmark = [pytest.mark.walls, pytest.mark.timeout(3600), pytest.mark.as_root]

Results = Mapping[str, Trial]


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> Results:
    """The results of the selected attacks, by name."""
    asked = {
        str(item.callspec.params["attack"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and "attack" in item.fixturenames
    }
    attacks = [each for each in ATTACKS if str(each) in asked]
    if request.config.option.over_engine:
        attacks = [*map(attack_over_engines, attacks)]
    return try_attacks(attacks, "both")


def try_attacks(attacks: Sequence[Attack], mode: str) -> Results:
    """The results of these attacks in one mode, by their names."""
    return {trial.attack: trial for trial in asyncio.run(audit.run(attacks, modes=[mode])).trials}


def test_every_surface_has_its_least_number_of_attacks() -> None:
    counts = {family: sum(attack.family == family for attack in ATTACKS) for family in FAMILIES}
    assert {attack.family for attack in ATTACKS} == FAMILIES.keys()
    assert [family for family, least in FAMILIES.items() if counts[family] < least] == []


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_an_attack_on_a_surface_does_not_work_here(attack: Attack, results: Results) -> None:
    assert results[str(attack)].violation == ""
