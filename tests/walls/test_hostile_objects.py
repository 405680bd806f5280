"""Our code in the child handles hostile objects, errors and texts of a script, and always reports the ending."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.walls, pytest.mark.both_users]

_LYING_TEXT = """
class Text(str):
    def __len__(self): return -10**9
    def isascii(self): return True
    def __getitem__(self, key): raise KeyboardInterrupt
"""

ERRORS = {
    "text_of_an_error_that_raises": "class E(Exception):\n    def __str__(self): raise KeyboardInterrupt\nraise E",
    "text_of_an_error_without_end": "class E(Exception):\n    def __str__(self): return str(self)\nraise E",
    "code_of_an_exit_that_raises": "class C:\n    def __bool__(self): raise KeyboardInterrupt\nexit(C())",
    "line_that_is_no_number": "raise SyntaxError('x', ('<script>', 'nope', 1, ''))",
    "line_that_is_no_line": "raise SyntaxError('x', ('<script>', 10**30, -5, ''))",
    "name_of_a_class_without_end": "class E(Exception): pass\nE.__name__ = 'x' * 10**6\nraise E('\\ud800' * 9)",
    "group_of_many_words": "raise BaseExceptionGroup('g' * 10**5, [KeyboardInterrupt('\\x00')])",
    "items_that_leave": "class D(dict):\n    def items(self): raise SystemExit(3)\nreturn D(a=1)",
    "key_that_raises": "class K:\n    def __repr__(self): raise KeyboardInterrupt\nreturn {K(): 1}",
    "fields_that_are_none": (
        "import dataclasses\n@dataclasses.dataclass\nclass X:\n    a: int\nx = X(1)\n"
        "x.__dict__['__dataclass_fields__'] = 5\nreturn x"
    ),
    "object_left_behind_by_an_exit": "result = object()\nexit()",
    "stream_that_raises": (
        "import contextlib\nclass F:\n    def write(self, text): raise KeyboardInterrupt\n"
        "redirection = contextlib.redirect_stdout(F())\nredirection.__enter__()\nprint('a')"
    ),
    "number_that_empties_the_bytes": (
        "class N:\n    def __index__(self):\n        data.clear()\n        return 50\n"
        "data = bytearray(99)\ndata[N()] = 1"
    ),
    "byte_that_empties_the_bytes": (
        "class N:\n    def __index__(self):\n        data.clear()\n        return 1\n"
        "data = bytearray(99)\ndata[50] = N()"
    ),
    "input_of_a_reader_that_reads": (
        "import csv\nclass Lines:\n    asked = 0\n    def __iter__(self): return self\n    def __next__(self):\n"
        "        self.asked += 1\n        return next(rows)[0] if self.asked < 9 else 'a'\n"
        "rows = csv.reader(Lines())\nlist(rows)"
    ),
    "method_without_a_function": "staticmethod.__new__(staticmethod)()",
    "awaitable_that_yields_anything": "class A:\n    def __await__(self): yield 5\nawait A()",
    "delay_that_cannot_be_compared": (
        "import asyncio\nclass D:\n    def __le__(self, other): return False\n"
        "    def __radd__(self, other): return self\n    def __sub__(self, other): return self\n"
        "await asyncio.sleep(D())"
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_script_with_a_hostile_object_ends_as_an_error(fence: Any, name: str) -> None:
    outcome = fence.run(ERRORS[name])
    assert outcome.status == "error", outcome


def test_a_hint_that_lies_about_itself_is_left_as_text(fence: Any) -> None:
    caught = "try: getattr(1, '__globals__')\nexcept AttributeError as error: Refused = type(error)\n"
    outcome = fence.run(f"{_LYING_TEXT}\n{caught}raise Refused('told', Text('hint'))")
    assert (outcome.status, outcome.error.hint) == ("rejected", "hint")


def test_a_text_that_lies_about_its_length_is_counted_as_long_as_it_is(fence: Any) -> None:
    outcome = fence.run(f"{_LYING_TEXT}\nfor _ in range(100_000): print('', end=Text('y' * 1000))")
    assert outcome.status == "limit"


def test_an_exit_leaves_the_result_as_it_is(fence: Any) -> None:
    assert fence.run("result = 5\nexit()").result == 5
