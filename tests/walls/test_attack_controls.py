"""Each attack succeeds where nothing is in its way: on plain Python, or on an unprotected equivalent."""

from __future__ import annotations

import pytest

from tests.walls.test_surface_attacks import try_attacks
from winnow.security import suite
from winnow.security.audit import CONTROL

ATTACKS = list(suite.read_attacks())
pytestmark = [pytest.mark.walls, pytest.mark.real_starts, pytest.mark.timeout(1200)]


@pytest.mark.parametrize("family", sorted({attack.family for attack in ATTACKS}))
def test_each_attack_of_a_family_works_on_its_control(family: str) -> None:
    attacks = [attack for attack in ATTACKS if attack.family == family]
    results = try_attacks(attacks, CONTROL)
    assert {str(attack): results[str(attack)].ending for attack in attacks} == dict.fromkeys(
        map(str, attacks), "succeeded"
    )
