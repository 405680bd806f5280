"""Any program is refused or compiled; a compiled program never holds a key to the interpreter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.sandbox.child.language import compiler, refusals
from winnow.sandbox.child.language.allow_list import ALLOWED

from . import grammar, oracle, seeds
from .choices import Choices
from .engine import CHOICES, examples
from .harness import Harness

_WORDS = st.sampled_from(
    ["def", "class", "lambda", "async", "await", "yield", "from", "import", "match", "case", "try", "except*",
     "as", "with", "finally", "return", "(", ")", "[", "]", "{", "}", ":", ",", ".", "=", "==", ":=", "->", "*",
     "**", "@", ";", "\n", "\n ", "\n\t", "\\\n", "#", "f'{", "}'", "'''", "\x00", "\x0c", "\u2028", "\ufeff",
     "0x", "1e999", "9_9", "1j", "...", "__class__", "x", "é", "ﬁ", "\ud800"]
)  # fmt: skip
TEXTS = (
    st.text(max_size=60) | st.lists(_WORDS, max_size=30).map("".join) | st.lists(_WORDS, max_size=30).map(" ".join)
)


@examples(500)
@given(TEXTS)
def test_any_text_is_refused_or_compiled_to_bytecode_without_a_forbidden_name(text: str) -> None:
    try:
        compiled = compiler.compile_script(text)
    except refusals.Rejected:
        return
    assert (oracle.forbidden_in(compiled.code), oracle.foreign_lines(compiled.code, text)) == ([], set())


@examples(400)
@given(CHOICES)
def test_whatever_compiles_never_holds_a_key_to_the_interpreter(harness: Harness, choices: Choices) -> None:
    source = grammar.hostile(choices)
    assert harness.judge(source)["findings"] == [], source


@examples(250)
@given(CHOICES)
def test_no_change_to_an_attack_or_a_script_makes_it_hold_one(harness: Harness, choices: Choices) -> None:
    source = grammar.mutate(choices, seeds.programs())
    assert harness.judge(source)["findings"] == [], source


# Repeated to the limit on a script's size: each of these nests, or widens, something in the parser or compiler.
_REPEATED = {
    "brackets": ("(", "1", ")"), "lists": ("[", "", "]"), "minus": ("-", "1", ""), "nots": ("not ", "1", ""),
    "lambdas": ("lambda:", "1", ""), "attributes": ("", "x", ".y"), "items": ("", "x", "[0]"),
    "calls": ("", "f", "()"),
    "conditions": ("1 if 1 else ", "1", ""), "sums": ("1+", "1", ""), "strings": ("'a' ", "'b'", ""),
    "targets": ("x=", "1", ""), "stars": ("*", "x", ""), "decorators": ("@x\n", "def f(): pass", ""),
    "f-strings": ("f'{", "1", "}'"), "statements": ("x=1;", "x=1", ""), "powers": ("9**", "9", ""),
    "comparisons": ("1<", "1", ""), "walrus": ("(x:=", "1", ")"), "awaits": ("await ", "x", ""),
    "comprehensions": ("[0 for x in ", "x", "]"), "subscripts": ("x[", "0", "]"), "sets": ("{", "1", "}"),
    "dots": ("from ", ".", " import x"), "digits": ("", "9", "9"), "continuations": ("\\\n", "1", ""),
}  # fmt: skip


@pytest.mark.parametrize("times", [50, 90, 500, 50_000])
@pytest.mark.parametrize("shape", _REPEATED)
def test_a_construct_repeated_without_end_is_refused_or_compiled(harness: Harness, shape: str, times: int) -> None:
    before, middle, after = _REPEATED[shape]
    count = min(times, 50_000 // len(before + after))
    found = harness.compile(before * count + middle + after * count)
    assert (found["ending"] in ("refused", "compiled"), found["findings"]) == (True, []), found


@pytest.mark.parametrize("module", sorted(ALLOWED))
def test_an_import_that_may_fail_gives_out_no_member_that_is_not_offered(harness: Harness, module: str) -> None:
    for member in ("__dict__", "__class__", "__reduce_ex__", "__getattribute__", "_title", "compiler_flag", "sys"):
        source = f"try:\n    from {module} import {member} as found\nexcept ImportError:\n    found = None\nfound"
        assert harness.judge(source)["findings"] == [], source


# --- controls of the oracles -----------------------------------------------------------------------------------

_HOLDING = {
    "a module": "import json\njson",
    "a frame": "g = (g.gi_frame for _ in (1,))\nnext(g)",
    "a frame behind a pattern": "from abc import ABCMeta\nopen = classmethod(lambda cls, other: True)\n"
    "R = ABCMeta('R', (), {'__match_args__': ('gi_frame',), '__subclasshook__': open})\n"
    "match (1 for _ in ()):\n    case R(f): held = [f]",
    "a code object": "(lambda: 0).__code__",
    "a cell": "def f(x):\n    return lambda: x\nf(1).__closure__[0]",
    "globals": "(lambda: 0).__globals__",
    "the real getattr": "[getattr]",
    "type": "type(int)",
    "a metaclass": "from abc import ABCMeta",
    "a text's own format": "'{0.__class__}'.format",
    "a method that reads by name": "object.__getattribute__",
    "the subclasses of object": "object.__subclasses__",
    "a file": "import sys\nout = [sys.__stdout__]",
    "a function in a closure": "def f(x=open):\n    return lambda: x\nf()",
    "a library's own module": "import json\ndecoder = json.decoder",
    "an event of the interpreter": "import os\nos.listdir('/')",
    "a class of ours that was changed": "from collections import Counter\nCounter.most_common = lambda self: 1",
}  # fmt: skip


@pytest.mark.parametrize("what", _HOLDING)
def test_the_oracles_see_what_a_program_holds_that_nothing_holds_back(harness: Harness, what: str) -> None:
    assert harness.control(_HOLDING[what])["findings"] != []


@pytest.mark.parametrize(
    "source",
    [
        "x.__class__", "x.gi_frame", "x.format", "x.__dict__ = 1", "del x.tb_frame", "x._private", "import os",
        "from json import __dict__", "match x:\n    case C(gi_frame=f): pass", "def f():\n    return x.f_back",
        "[x.mro for x in y]", "class A:\n    def f(self): return self.__globals__", "x.__code__ += 1",
    ],
)  # fmt: skip
def test_the_oracle_of_bytecode_sees_a_forbidden_name(source: str) -> None:
    assert oracle.forbidden_in(compile(source, "<control>", "exec")) != []


def test_the_oracles_report_nothing_for_a_benign_program(harness: Harness) -> None:
    source = "import json\nclass A:\n    def f(self): return [1]\nprint(json.dumps(A().f()))\nA().f()"
    assert harness.judge(source) == {"ending": "ok", "findings": []}
