"""One throw-away process for all programs of the fuzzing tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .harness import Harness


@pytest.fixture(scope="session")
def harness() -> Iterator[Harness]:
    """Runs programs behind the fence alone."""
    harness = Harness()
    yield harness
    harness.close()
