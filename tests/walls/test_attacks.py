"""Every attack by a script is held by the whole sandbox and by each half that claims it.

That each succeeds without them is tested by test_attack_controls.py, which is rare: attacks seldom change.
Attacks on other surfaces are tried in test_surface_attacks.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

from winnow.security import audit, suite
from winnow.security.audit import Trial
from winnow.security.suite import Attack

ATTACKS = [attack for attack in suite.read_attacks() if attack.is_script]
pytestmark = [pytest.mark.walls, pytest.mark.timeout(600), pytest.mark.both_users]

Results = Mapping[str, Trial]


def _results(mode: str) -> Callable[..., Results]:
    """A fixture: the results of the selected attacks in one mode, several run at once."""

    @pytest.fixture(scope="module", name=mode)
    def results(request: pytest.FixtureRequest) -> Results:
        asked = {
            str(item.callspec.params["attack"])
            for item in request.session.items
            if isinstance(item, pytest.Function) and item.path == request.path and mode in item.fixturenames
        }
        report = asyncio.run(audit.run([each for each in ATTACKS if str(each) in asked], modes=[mode]))
        return {trial.attack: trial for trial in report.trials}

    return results


fence, walls, both = map(_results, suite.LAYERS)


def test_the_suite_has_at_least_700_attacks_in_34_families_that_a_half_claims_to_stop() -> None:
    families = {attack.family for attack in ATTACKS}
    claimed = {attack.family for attack in ATTACKS if attack.verdicts.keys() & {"fence", "walls"}}
    assert (len(ATTACKS) >= 700, len(families) >= 34, families - claimed) == (True, True, set())


def _attacks_of(mode: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "attack", [each for each in ATTACKS if mode in audit.claimed_modes(each)], ids=str
    )


@_attacks_of("fence")
def test_the_fence_alone_holds_an_attack(attack: Attack, fence: Results) -> None:
    assert fence[str(attack)].violation == ""


@_attacks_of("walls")
def test_the_walls_alone_hold_an_attack(attack: Attack, walls: Results) -> None:
    assert walls[str(attack)].violation == ""


@_attacks_of("both")
def test_the_whole_sandbox_holds_an_attack(attack: Attack, both: Results) -> None:
    assert both[str(attack)].violation == ""
