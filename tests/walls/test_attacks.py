"""Every attack is held by the whole sandbox, by each half alone where it says so, and by nothing else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from security import suite

ATTACKS = list(suite.attacks())
pytestmark = pytest.mark.walls


@pytest.fixture(scope="module")
def controls() -> dict[str, bool]:
    """Each attack on plain Python, several at once."""
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(map(str, ATTACKS), pool.map(suite.succeeds_on_plain_python, ATTACKS), strict=True))


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_an_attack_works_where_nothing_stops_it(attack: suite.Attack, controls: dict[str, bool]) -> None:
    assert controls[str(attack)]


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_the_whole_sandbox_holds_an_attack(attack: suite.Attack, bench: Any) -> None:
    outcome = bench.run(attack.source)
    assert (outcome.status in attack.verdicts["fence"], suite.breached(outcome)) == (True, False), outcome


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_the_fence_alone_holds_an_attack(attack: suite.Attack, fence: Any) -> None:
    outcome = fence.run(attack.source)
    assert (outcome.status in attack.verdicts["fence"], suite.breached(outcome)) == (True, False), outcome


# What the walls do not see: Python objects within the script's own process.
_ASKED = [attack for attack in ATTACKS if attack.verdicts["walls"] != ("ok",)]


@pytest.mark.parametrize("attack", _ASKED, ids=str)
def test_the_walls_alone_hold_an_attack(attack: suite.Attack, walls: Any) -> None:
    outcome = walls.run(attack.source)
    assert (outcome.status in attack.verdicts["walls"], suite.breached(outcome)) == (True, False), outcome
