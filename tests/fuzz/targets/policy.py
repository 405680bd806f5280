"""Any text: refused, or compiled to bytecode without a forbidden name and with the author's lines."""

from __future__ import annotations

from collections.abc import Iterator

from tests.fuzz import oracle
from tests.fuzz import seeds as programs
from winnow.sandbox.child.language import compiler, refusals


def check(data: bytes) -> None:
    """The text, as an agent would send it."""
    source = data.decode("utf-8", "replace")
    try:
        code = compiler.compile_script(source).code
    except refusals.Rejected:
        return
    assert oracle.forbidden_in(code) == []
    assert oracle.foreign_lines(code, source) == set()


def seeds() -> Iterator[bytes]:
    """Every attack and every script of the tests."""
    return (source.encode("utf-8", "replace") for source in programs.programs())
