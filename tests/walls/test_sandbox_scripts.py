"""Everyday scripts print in the sandbox what they print on plain CPython.

The scripts are files below scripts/: a construct of the language, a module, or a whole task as agents write them.
scripts/control.py runs the same on plain CPython, with the same SDK and the same small library behind it.
"""

# ruff: noqa: E501 - scripts are quoted the way they are written

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from winnow.sandbox import CallError, Outcome, Reply

pytestmark = [pytest.mark.walls, pytest.mark.both_users]

FOLDER = Path(__file__).parent / "scripts"
LIBRARY = runpy.run_path(str(FOLDER / "library.py"))
_SINCE = re.compile(r"# python 3\.(\d+)\n")


def _sources() -> dict[str, str]:
    found = {}
    for path in sorted(FOLDER.glob("*/*.py")):
        source = path.read_text("utf-8")
        since = _SINCE.match(source)
        if since is None or sys.version_info >= (3, int(since[1])):
            found[f"{path.parent.name}/{path.stem}"] = source
    return found


SOURCES = _sources()


async def answer(method: str, params: Mapping[str, Any]) -> Reply:
    """The library as a host."""
    reply = LIBRARY["answer"](method, params)
    if "error" in reply:
        raise CallError(reply["error"]["type"], reply["error"]["message"])
    return Reply(reply["ok"], rows=reply["ok"]["count"])


# Scripts that end with an exception.
ENDINGS = [
    "print('before'); {}['k']", "[][3]", "(1,)[5]", "'abc'[9]", "1 / 0", "5 % 0", "1.0 // 0", "int('x')", "int(None)",
    "float('y')", "'a' + 1", "1 + 'a'", "[1] + (2,)", "None + 1", "None.upper()", "(1).upper()", "[].push(1)", "{}.foo",
    "len(5)", "sum(['a'])", "max([])", "min()", "sorted([1, 'a'])", "abs('x')", "round('x')", "ord('ab')", "chr(-1)",
    "print(undefined_name)", "undefined_call()", "def f():\n    return missing\nf()",
    "def f():\n    print(x)\n    x = 1\nf()", "x = 1\ndef f():\n    x += 1\nf()", "del nothing", "def f(a): pass\nf()",
    "def f(a): pass\nf(1, 2)", "def f(a): pass\nf(b=1)", "def f(*, k): pass\nf()", "def f(a): pass\nf(1, a=2)",
    "class A: pass\nA(1)", "class A: pass\nA().x", "class A:\n    def m(self): pass\nA().m(1)", "class A: pass\nA.y",
    "class A:\n    def __init__(self, x): pass\nA()", "class A:\n    __slots__ = ()\nA().x = 1",
    "a, b = 1, 2, 3", "a, b = [1]", "a, b = 5", "for x in 5: pass", "[x for x in None]", "dict([1])", "{[]: 1}", "{{}}",
    "raise ValueError('own')", "raise ValueError", "class E(Exception): pass\nraise E('mine', 2)", "raise 5",
    "try:\n    1 / 0\nfinally:\n    print('finally')", "try:\n    {}['a']\nexcept KeyError as e:\n    raise TypeError('t') from e",
    "assert 1 == 2", "assert [], 'nothing there'", "next(iter([]))", "def g():\n    yield 1\ng().send(5)", "iter(5)",
    "raise ExceptionGroup('several', [ValueError(1), TypeError('b')])", "import json\njson.loads('{')",
    "from datetime import date\ndate(2026, 13, 1)", "from decimal import Decimal\nDecimal('x')", "import math\nmath.sqrt(-1)",
    "import re\nre.compile('(')", "from enum import Enum\nclass C(Enum):\n    A = 1\nC(2)", "from enum import Enum\nclass C(Enum):\n    A = 1\nC.B",
    "from dataclasses import dataclass\n@dataclass\nclass D:\n    x: int\nD()", "import statistics\nstatistics.mean([])",
    "'{}'.format()", "'{x}'.format(y=1)", "'%d' % 'a'", "f'{1:q}'", "'a'.join([1])", "b'a' + 'b'", "'a'.encode('nope')",
    "b'\\xff'.decode()", "int('1' * 5000)", "range(1, 2, 0)", "[1, 2].remove(3)", "[].pop()", "{}.popitem()", "'a'.index('b')",
    "def f(n): return f(n + 1)\nf(0)", "(lambda: 1 / 0)()", "from collections import deque\ndeque().pop()",
    "import asyncio\nasync def f(): raise ValueError('async')\nasyncio.run(f())", "await 5", "import sys\nsys.exit('bad')",
    "exit(3)", "raise SystemExit('left')", "x: int = 'a'\nx.foo", "isinstance(1, 'a')", "issubclass(1, int)",
    "super().x", "hash([])", "5()", "'a'()", "None[0]", "1[0]", "[1]['a']", "{'a': 1}.a", "not_defined += 1", "1 < 'a'",
    "def f():\n    raise StopIteration\ndef g():\n    yield f()\nlist(g())", "with 5: pass", "async def f():\n    async with 5: pass\nawait f()",
    "class A:\n    @property\n    def p(self): return 1\nA().p = 2", "from abc import ABC, abstractmethod\nclass A(ABC):\n    @abstractmethod\n    def f(self): ...\nA()",
    "semantic_search('x')", "fetch()", "kb.search('retry', nope=1)", "kb.nope('x')",
]  # fmt: skip


TRACEBACKS = """
import json
import traceback
from decimal import Decimal


def inner(key):
    return {}[key]


def outer():
    try:
        inner("k")
    except KeyError as error:
        raise ValueError("outer") from error


class Own(Exception):
    'Of the script.'


def meanwhile():
    try:
        raise Own("first")
    except Own:
        [][1]


def cut():
    try:
        1 / 0
    except ZeroDivisionError:
        raise Own from None


def noted():
    error = TypeError("with a note")
    error.add_note("the note")
    raise error


for fail in (outer, meanwhile, cut, noted, lambda: json.loads("{"), lambda: Decimal("x"), lambda: 1 / 0):
    try:
        fail()
    except Exception as error:
        print(traceback.format_exc())
        print("".join(traceback.format_exception(error)), traceback.format_exception_only(error))
"""


@pytest.fixture(scope="module")
def on_cpython() -> dict[str, tuple[str, Any]]:
    """What each script printed on plain CPython, and the exception that ended it."""
    command = [sys.executable, "-W", "ignore::SyntaxWarning", str(FOLDER / "control.py")]
    scripts = {**SOURCES, **{source: source for source in [*ENDINGS, TRACEBACKS]}}
    done = subprocess.run(
        command, input=json.dumps(list(scripts.values())), env={"PYTHONHASHSEED": "0", "TZ": "UTC"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(zip(scripts, map(tuple, json.loads(done.stdout)), strict=True))


def _ending(outcome: Outcome) -> Any:
    if outcome.error is None:
        return None
    told = outcome.error.message
    # What CPython quotes, we say.
    return [outcome.error.type, f"'{told[8:-1]}'" if told.startswith("no key '") else told]


@pytest.mark.parametrize("name", SOURCES)
def test_a_script_prints_and_ends_as_on_cpython(bench: Any, on_cpython: Mapping[str, Any], name: str) -> None:
    printed, ended = on_cpython[name]
    outcome = bench.run(SOURCES[name], call=answer)
    assert (outcome.stdout, _ending(outcome)) == (printed, ended), outcome.error


def test_the_scripts_are_as_many_as_promised(on_cpython: Mapping[str, Any]) -> None:
    """An everyday script that CPython itself fails on shows nothing."""
    failed = [name for name in SOURCES if on_cpython[name][1]]
    assert (failed, len(SOURCES) >= 160) == ([], True)


@pytest.mark.parametrize("source", ENDINGS)
def test_a_script_that_fails_ends_with_cpythons_exception(
    bench: Any, on_cpython: Mapping[str, Any], source: str
) -> None:
    printed, ended = on_cpython[source]
    outcome = bench.run(source, call=answer)
    assert (outcome.stdout, _ending(outcome)) == (printed, ended), outcome.error


def _without_library(traceback: str) -> list[str]:
    """The lines of a traceback that both have: CPython knows no source here, and shows its library's frames."""
    lines = traceback.splitlines()
    return [line for line in lines if not line.startswith("    ") and ("File" not in line or "<script>" in line)]


def test_a_traceback_is_cpythons_with_the_scripts_own_frames(bench: Any, on_cpython: Mapping[str, Any]) -> None:
    printed, _ = on_cpython[TRACEBACKS]
    outcome = bench.run(TRACEBACKS)
    assert _without_library(outcome.stdout) == _without_library(printed)
    assert "    return {}[key]" in outcome.stdout.splitlines()
