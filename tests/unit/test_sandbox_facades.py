"""Objects that a script can read without a guard are not a way out: found by walking them."""

# ruff: noqa: E501 - scripts are quoted the way they are written

from __future__ import annotations

import builtins
import json
import os
import subprocess
import types
from collections.abc import Iterator
from typing import Any

import pytest

from winnow.sandbox.child.console import Console
from winnow.sandbox.child.guards import dunders, script_builtins
from winnow.sandbox.child.language import allow_list, compiler, names, policy, refusals
from winnow.sandbox.child.modules import facades
from winnow.sandbox.child.modules.printing_modules import OutputStreams

pytestmark = pytest.mark.both_users

DEPTH = 4

# Objects that are a way out, whichever path reaches them.
WAYS_OUT = {
    id(thing)
    for thing in (
        builtins.open, builtins.exec, builtins.eval, builtins.compile, builtins.__import__, builtins.globals,
        builtins.locals, builtins.vars, builtins.getattr, builtins.setattr, builtins.input, type,
        types.FunctionType, types.CodeType, types.ModuleType, os.system, os.open, subprocess.Popen,
    )
}  # fmt: skip
INNER = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType, types.CellType)


class _Nowhere:
    def send(self, frame: dict[str, Any]) -> None:
        """Drop it."""


@pytest.fixture(scope="module")
def roots() -> dict[str, Any]:
    """Everything a script starts with or may import."""
    facades.build()
    importer = facades.Importer(OutputStreams(Console(_Nowhere(), 1000)))
    modules = {name: importer(name, fromlist=(min(offered),)) for name, offered in allow_list.ALLOWED.items()}
    builtin_names = {name: value for name, value in script_builtins.get_builtins().items() if name[0] != "@"}
    return {**builtin_names, **facades.script_sdk(), **modules}


def _reachable(roots: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    level = list(roots.items())
    keep = [thing for _, thing in level]
    for _ in range(DEPTH):
        below = []
        for path, thing in level:
            if id(thing) in seen:
                continue
            seen.add(id(thing))
            yield path, thing
            for name in dir(thing):
                if not names.is_plain(name):
                    continue
                try:
                    found = getattr(thing, name)
                except Exception:  # a property that wants an instance
                    continue
                keep.append(found)
                below.append((f"{path}.{name}", found))
        level = below


def test_no_plain_attribute_leads_out(roots: dict[str, Any]) -> None:
    out = [path for path, thing in _reachable(roots) if isinstance(thing, INNER) or id(thing) in WAYS_OUT]
    assert out == []


def test_the_walk_finds_the_way_out_of_a_real_module() -> None:
    """The control: with the real module instead of the façade the walk finds ways out."""
    found = _reachable({"json": json})
    assert any(path != "json" and isinstance(thing, INNER) for path, thing in found)


def test_every_name_on_the_menu_of_this_python_is_served(roots: dict[str, Any]) -> None:
    missing = [
        f"{module}.{name}"
        for module, offered in allow_list.ALLOWED.items()
        for name in offered
        if module != "__future__" and not hasattr(roots[module], name)
    ]
    assert missing == []


def test_guards_have_names_that_no_source_can_spell() -> None:
    hooks = (policy.ATTRIBUTE, policy.TARGET, policy.LAST, policy.END)
    assert [hook for hook in hooks if hook.isidentifier()] == []


class _Generated:
    def __replace__(self) -> None:
        """As @dataclass generates it from Python 3.13 on."""


class _Below(_Generated):
    """Finds it by super()."""


def test_a_generated_replace_is_not_found_by_super() -> None:
    with pytest.raises(refusals.Refused):
        dunders.read_dunder(super(_Below, _Below()), "__replace__")


@pytest.mark.parametrize(
    "name", ["gi_frame", "cr_frame", "ag_frame", "f_back", "f_globals", "tb_frame", "co_code"]
)
def test_inner_names_are_forbidden_however_they_are_read(name: str) -> None:
    assert names.is_forbidden(name)
    with pytest.raises(refusals.Rejected):
        compiler.compile_script(f"x.{name}")
    with pytest.raises(refusals.Rejected):
        compiler.compile_script(f"x.{name} = 1")
    with pytest.raises(refusals.Rejected):
        compiler.compile_script(f"match x:\n    case C({name}=y): pass")
    with pytest.raises(refusals.Refused):
        script_builtins.guarded_getattr(object(), name, None)
    assert not script_builtins.guarded_hasattr(object(), name)


@pytest.mark.parametrize(
    "source",
    [
        "__builtins__", "__builtins__ = 1", "def __import__(): pass", "class __loader__: pass", "import json as __spec__",
        "for __build_class__ in x: pass", "with x as __globals__: pass", "lambda __code__: 1", "def f(__code__, /): pass",
        "def f(*__x__, **__y__): pass", "try: pass\nexcept E as __traceback__: pass", "[__x__ for __x__ in y]",
        "(__x__ := 1)", "global __builtins__", "def f():\n    nonlocal __x__", "match x:\n    case __y__: pass",
        "match x:\n    case {**__y__}: pass", "match x:\n    case [*__y__]: pass", "del __builtins__",
        "x.__class__ = 1", "x.__dict__ = 1", "del x.__class__", "x.__globals__", "f'{x.__code__}'", "x.__getattribute__",
        "class A:\n    def __getattribute__(self, n): pass", "class A:\n    __class__ = 1",
        "class A:\n    __annotations__ = {}", "class A:\n    def __reduce__(self): pass",
        "class A:\n    (__match_args__, x) = 1, 2", "class A:\n    __match_args__ = f()",
        "class A:\n    __match_args__ = ('gi_frame',)", "class A:\n    __match_args__: tuple = ('_x',)",
        "super = 1", "def super(): pass", "lambda super: 1", "import json as super", "x.__subclasshook__",
        "match x:\n    case C(format=f): pass", "match x:\n    case C(_p=f): pass", "match x:\n    case a.__class__: pass",
        "from . import x", "from os import path", "import os.path", "from json import *\nimport os",
        "from string import Formatter", "exec('1')", "eval('1')", "open('x')", "compile('1', '', 'eval')", "globals()",
        "yield 1", "x = yield", "break", "def f(: pass", "\x00", "x = '\\N{NO SUCH NAME}'", "return 1\nclass A:\n    return 2",
        "async def f():\n    yield from x",
    ],
)  # fmt: skip
def test_what_the_policy_refuses_is_refused_before_it_runs(source: str) -> None:
    with pytest.raises(refusals.Rejected) as caught:
        compiler.compile_script(source)
    assert caught.value.type in ("CodeRejected", "SyntaxError")
    assert caught.value.message


def test_a_node_nobody_looked_at_is_refused() -> None:
    class Unknown(policy.ast.expr):
        pass

    tree = policy.ast.Module(body=[policy.ast.Expr(Unknown(lineno=1, col_offset=0))], type_ignores=[])
    with pytest.raises(refusals.Rejected, match="not part of this Python"):
        policy.Policy("").visit(tree)
