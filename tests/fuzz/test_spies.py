"""Nothing that scripts may import hands a spy what no script may hold: frames, metaclasses, raw functions.

What handed something over before it was closed; test_all_spies.py probes the rest, which takes ten minutes.
"""

from __future__ import annotations

import pytest

from . import spies
from .harness import Harness

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("name", spies.FOUND_BEFORE)
def test_what_once_handed_something_over_hands_spies_nothing(harness: Harness, name: str) -> None:
    assert spies.findings(harness, name) == set()


def test_the_operand_of_a_comparison_is_found_where_nothing_is_guarded(harness: Harness) -> None:
    """The control: on plain Python it reaches the spy, and the oracle says so."""
    source = "class Spy:\n    def __eq__(self, other): other\nSpy() == __import__('types').FunctionType"
    assert "an expression is class function" in harness.control(source)["findings"]
