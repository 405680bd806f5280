"""No silent difference: output, error and line of a script equal those of CPython."""

from __future__ import annotations

import pytest
from hypothesis import given

from .benign import benign
from .choices import Choices
from .engine import CHOICES, examples
from .harness import Harness


@examples(100)
@given(CHOICES)
def test_a_benign_program_prints_what_cpython_prints_and_fails_where_it_fails(
    harness: Harness, choices: Choices
) -> None:
    source = benign(choices)
    assert harness.differs(source) is None, source


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    from json import nothere\nexcept ImportError as e:\n    print(type(e).__name__)",
        "x = 'a\x0cb'\ny = '''\u2028\x1c'''\n1 / 0",
        "\r\nx = 1\r1 / 0",
        "from abc import ABCMeta as M\nclass A(metaclass=M): pass\nprint(*(isinstance(a, M) for a in (A, int)))",
    ],
)
def test_what_fuzzing_found_stays_as_cpython_has_it(harness: Harness, source: str) -> None:
    assert harness.differs(source) is None
