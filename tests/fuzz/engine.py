"""Fuzzing in the test run: the same examples every time, so failures repeat. `make fuzz` looks for new ones."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from .choices import Choices


def examples(count: int) -> settings:
    """So many examples, derived from the test's own text, without a clock."""
    return settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


# Long tapes as often as short ones; left to itself the engine makes nearly all of them short.
TAPES = st.sampled_from([8, 30, 100, 300, 900]).flatmap(lambda size: st.binary(min_size=size, max_size=size))
CHOICES = TAPES.map(Choices)
