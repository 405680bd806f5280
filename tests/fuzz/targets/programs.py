"""A generated program, or an attack with changes: behind the fence, it never holds a key to the interpreter."""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Iterator
from functools import cache

from tests.fuzz import grammar
from tests.fuzz import seeds as programs
from tests.fuzz.choices import Choices
from tests.fuzz.harness import Harness
from winnow.sandbox.child.language import compiler, refusals


@cache
def harness() -> Harness:
    """One process for all programs."""
    made = Harness()
    atexit.register(made.close)
    return made


def program(data: bytes) -> str:
    """The program that these bytes choose."""
    choices = Choices(data)
    return grammar.mutate(choices, programs.programs()) if choices.below(2) else grammar.hostile(choices)


def check(data: bytes) -> None:
    """Compile it here, too, so that an engine that follows coverage sees the policy's code."""
    source = program(data)
    try:
        compiler.compile_script(source)
    except refusals.Rejected:
        return
    assert harness().judge(source)["findings"] == [], source


def seeds() -> Iterator[bytes]:
    """Tapes of several lengths."""
    return (hashlib.shake_128(bytes([number])).digest(40 * number) for number in range(1, 40))
