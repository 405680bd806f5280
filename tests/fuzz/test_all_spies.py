"""Every name that scripts may import, probed by spies. No part of `make test`: it takes ten minutes."""

from __future__ import annotations

import pytest

from . import spies
from .harness import Harness

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("name", sorted(set(spies.programs()) - set(spies.FOUND_BEFORE)))
def test_what_scripts_may_import_hands_spies_nothing(harness: Harness, name: str) -> None:
    assert spies.findings(harness, name) == set()
