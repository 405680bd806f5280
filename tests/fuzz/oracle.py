"""Oracles for forbidden objects and forbidden bytecode, independent of the policy.

Two oracles. The first reads bytecode: the names in it are compared with tables made here, from the interpreter.

The second watches a program run. A script does something with a value only by evaluating an expression that
yields it, so every expression of the compiled tree is wrapped in a call of ``@see``, a name that no source can
spell: what is never the value of an expression was never in the script's hands. What it could have reached in
one more step (an item, an attribute that the guards give out, a cell of a closure) is walked when it has ended.

A value is judged by its exact type or its identity, never by asking it: a script's object may answer anything.
There are two kinds of suspicious values. A *key* opens the interpreter to any holder, whatever the guards
do: a module, a frame, a code object, a dictionary of globals, `type` and other metaclasses, a real `getattr`, a
method that reads attributes by name past the guards. No script may ever hold one. A *handle* (a generator, a
function of ours, a traceback handed to ``__exit__``) is opaque as long as its inner attributes are closed; it
may be held, and the keys behind it are what is watched.
"""

from __future__ import annotations

import _io
import ast
import builtins
import dis
import io
import operator
import string
import sys
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

from winnow.sandbox.child.guards import attributes, trust
from winnow.sandbox.child.language.allow_list import ALLOWED
from winnow.sandbox.child.modules import facades

# --- bytecode --------------------------------------------------------------------------------------------------

_INNER_TYPES = (
    types.FrameType, types.CodeType, types.TracebackType, types.GeneratorType, types.CoroutineType,
    types.AsyncGeneratorType,
)  # fmt: skip
_HARMLESS_METHODS = {"send", "throw", "close", "clear", "replace", "athrow", "aclose", "asend"}
INNER_NAMES = {name for kind in _INNER_TYPES for name in dir(kind) if "__" not in name} - _HARMLESS_METHODS
_GUARDED_NAMES = {"format", "format_map", "obj", "mro", "evaluate"}
_DUNDERS_WRITTEN = {"__name__", "__qualname__", "__doc__", "__cause__", "__suppress_context__"}


_READING = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"}  # in this Python or another


def all_code(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code object and those in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from all_code(constant)


def forbidden_in(code: types.CodeType, in_try: bool = False) -> list[str]:
    """The forbidden names in the bytecode; ``in_try`` says whether the whole may be inside a try."""
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    tries = in_try or bool(dis.Bytecode(code).exception_entries)
    return [*_forbidden_here(code, in_try), *(found for each in inner for found in forbidden_in(each, tries))]


def _forbidden_here(code: types.CodeType, in_try: bool) -> Iterator[str]:
    instructions = list(dis.get_instructions(code))
    written = {i.argval for i in instructions if i.opname == "STORE_ATTR"}
    for number, instruction in enumerate(instructions):
        name, operation = instruction.argval, instruction.opname
        if operation in ("STORE_ATTR", "DELETE_ATTR"):
            allowed = _may_be_written(name)
        elif operation == "IMPORT_NAME":
            # An import that may fail: the importer refuses it when it runs.
            allowed = name in ALLOWED or in_try or _is_in_try(code, instruction.offset)
        elif operation == "MATCH_CLASS":
            allowed = all(map(_is_open, _keywords(instructions, number)))
        elif operation in _READING:
            # x._private += 1 reads what it writes; the guard of the writing has looked at it.
            allowed = _is_open(name) or (name in written and _may_be_written(name))
        else:
            continue
        if not allowed:
            yield f"{operation} {name}"


def _keywords(instructions: list[dis.Instruction], number: int) -> tuple[str, ...]:
    found = instructions[number - 1].argval
    return found if isinstance(found, tuple) else ("keywords that are no constant",)


def _is_dunder(name: str) -> bool:
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def _may_be_written(name: str) -> bool:
    return name not in INNER_NAMES and (name in _DUNDERS_WRITTEN or not _is_dunder(name))


def _is_open(name: str) -> bool:
    return not name.startswith("_") and name not in INNER_NAMES and name not in _GUARDED_NAMES


def _is_in_try(code: types.CodeType, offset: int) -> bool:
    return any(entry.start <= offset < entry.end for entry in dis.Bytecode(code).exception_entries)


def foreign_lines(code: types.CodeType, source: str) -> set[int]:
    """Line numbers in the code objects where the source has no executable code."""
    tree = ast.parse(source)
    written = {1} | {
        line
        for node in ast.walk(tree)
        if hasattr(node, "lineno")
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    named = {line for each in all_code(code) for _, _, line in each.co_lines() if line}
    return named - written


# --- keys ------------------------------------------------------------------------------------------------------

_KEY_TYPES = (
    types.ModuleType, types.FrameType, types.CodeType, types.CellType, _io.FileIO, _io.BufferedReader,
    _io.BufferedWriter, _io.BufferedRandom, io.TextIOWrapper, operator.attrgetter, operator.methodcaller,
    facades.Importer,
)  # fmt: skip
_METHODS = (
    types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
)  # fmt: skip
# Methods of C that read or write attributes past the guards, or lead to classes.
_KEY_METHODS = INNER_NAMES | {
    "__getattribute__", "__setattr__", "__delattr__", "__reduce__", "__reduce_ex__", "__globals__", "__code__",
    "__closure__", "__builtins__", "__self__", "__func__", "__class__", "__bases__", "__base__", "__mro__", "mro",
    "__traceback__", "__dict__", "__subclasshook__", "__instancecheck__", "__subclasscheck__",
}  # fmt: skip
_KEY_FUNCTIONS = (
    "open", "exec", "eval", "compile", "__import__", "globals", "locals", "vars", "getattr", "setattr", "delattr",
    "input", "breakpoint", "type",
)  # fmt: skip


class Keys:
    """The keys of this process, once everything is imported."""

    def __init__(self) -> None:
        # An address identifies an object until it is reused; after a fork, threading replaces some of its data.
        self._kept: list[Any] = [sys.modules.copy(), [facades.members_of(facade) for facade in _facades()]]
        self._known: dict[int, str] = {id(getattr(builtins, name)): name for name in _KEY_FUNCTIONS}
        for kind in (types.FunctionType, types.CodeType, types.ModuleType, types.FrameType, string.Formatter):
            self._known[id(kind)] = f"class {kind.__name__}"
        for name, module in list(sys.modules.items()):
            self._known[id(module)] = f"module {name}"
            if isinstance(module, types.ModuleType):
                self._known[id(module.__dict__)] = f"globals of {name}"
        self._known |= {id(sys.modules): "sys.modules", id(trust.script_globals): "the script's own globals"}
        self._known |= {id(facades.members_of(facade)): "a façade's dict" for facade in _facades()}
        offered = {id(value) for facade in _facades() for value in facades.members_of(facade).values()}
        spaces = [(name, vars(module)) for name, module in list(sys.modules.items())]
        spaces += [
            (cls.__name__, type.__dict__["__dict__"].__get__(cls))
            for cls in trust.TRUSTED
            if not issubclass(cls, facades.Facade)  # their lists are copies
        ]
        for owner, space in spaces:
            for name, value in list(space.items()):
                if type(value) in _DATA and not owner.startswith(("winnow.", "tests.")):
                    self._kept.append(value)
                    self._known.setdefault(id(value), f"data of {owner}: {name}")
        for owner, module in list(sys.modules.items()):
            for name, value in list(vars(module).items()):
                if type(value) is types.FunctionType and id(value) not in offered and _is_of_library(owner, name):
                    self._known.setdefault(id(value), f"the function {owner}.{name}, which is not offered")

    def what(self, value: object) -> str | None:
        """The name of this key; None for other objects."""
        kind = type(value)
        known = self._known.get(id(value))
        if known is not None:
            return known
        if issubclass(kind, _KEY_TYPES) or kind is string.Formatter:
            return f"a {kind.__name__}"
        if issubclass(kind, type) and issubclass(value, type):  # type: ignore[arg-type]
            return f"the metaclass {type.__getattribute__(value, '__name__')}"  # type: ignore[arg-type]
        if kind in _METHODS:
            return _what_method(value)
        if kind is dict and "@attribute" in value:  # type: ignore[operator]
            return "the builtins of a script"
        return None


_DATA = (dict, list, set, bytearray)  # what a script could change


# Attributes of each JSONDecoder, and what @overload returns: they read no attributes by name.
_HARMLESS_FUNCTIONS = ("JSONArray", "JSONObject", "_overload_dummy")


def _is_of_library(module: str, name: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names and name not in _HARMLESS_FUNCTIONS


def _facades() -> list[facades.Facade]:
    return list(facades._FACADES.values())


def _what_method(method: Any) -> str | None:
    name = method.__name__
    if name in _KEY_METHODS:
        return f"the method {name}"
    owner = getattr(method, "__objclass__", None) or type(getattr(method, "__self__", None))
    if name in ("format", "format_map") and issubclass(owner, str):
        return f"str.{name} past the guard"
    if name == "__subclasses__" and getattr(method, "__self__", object) in trust.TRUSTED:
        return "the subclasses of a class of ours"
    return None


# --- watching --------------------------------------------------------------------------------------------------

SEE = "@see"
_NOT_WRAPPED = (ast.Constant, ast.Starred, ast.Slice, ast.JoinedStr, ast.FormattedValue)
_NEITHER = frozenset({"@last", "@target", "@changed"})  # what these return goes back to the compiled code


class Wrapping(ast.NodeTransformer):
    """Every expression that the script's code evaluates becomes the argument of a call of ``@see``."""

    def visit(self, node: ast.AST) -> Any:
        """Patterns hold names and constants; what they capture is seen when it is read, or walked at the end."""
        if isinstance(node, ast.pattern) or _looks_at_operand(node):
            return node
        # super() without arguments looks for its own name in the code that calls it.
        if isinstance(node, ast.Name) and (node.id.startswith("@") or node.id == "super"):
            return node
        self.generic_visit(node)
        if not isinstance(node, ast.expr) or isinstance(node, _NOT_WRAPPED) or _calls(node, _NEITHER):
            return node
        if not isinstance(getattr(node, "ctx", None) or ast.Load(), ast.Load):
            return node
        seen = ast.Call(ast.Name(SEE, ast.Load()), [node], [])
        ast.copy_location(seen.func, node)
        return ast.copy_location(seen, node)


def _looks_at_operand(node: ast.AST) -> bool:
    """Whether the policy put this in front of an operator's body: it refuses what the body must not see."""
    test = node.test if isinstance(node, ast.If) else None
    return isinstance(test, ast.Compare) and getattr(test.comparators[0], "id", None) == "@closed"


def _calls(node: ast.expr, names: frozenset[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


_MOST_SEEN = 2_000
_MOST_WALKED = 20_000
_STEPS = 4


class Watch:
    """The keys that one program held."""

    def __init__(self, keys: Keys) -> None:
        self.found: list[str] = []
        self._keys = keys
        self._held: dict[int, object] = {}

    def see(self, value: Any) -> Any:
        """Look at the value of an expression, and hand it on."""
        self._judge(value, "an expression")
        if len(self._held) < _MOST_SEEN:
            self._held[id(value)] = value
        return value

    def _judge(self, value: object, path: str) -> None:
        what = self._keys.what(value)
        if what is not None:
            self.found.append(f"{path} is {what}")

    def walk(self) -> None:
        """Walk everything reachable from values that were held or are bound to a name."""
        level = [(f"a {type(value).__name__}", value) for value in self._held.values()]
        level += [(name, value) for name, value in trust.script_globals.items() if name != "__builtins__"]
        known: set[int] = set()
        kept = []  # addresses are unique only while their objects exist
        for _ in range(_STEPS):
            below = []
            for path, value in level:
                if id(value) in known or len(known) > _MOST_WALKED:
                    continue
                known.add(id(value))
                kept.append(value)
                self._judge(value, path)
                below += [(f"{path} {edge}", found) for edge, found in _edges(value)]
            level = below


def _edges(value: Any) -> Iterator[tuple[str, object]]:
    """One step further, without running anything of the script's."""
    kind = type(value)
    if kind in (list, tuple, set, frozenset, deque):
        yield from (("item", item) for item in list(value)[:200])
    elif issubclass(kind, dict):
        yield from (("item", item) for pair in list(dict.items(value))[:200] for item in pair)
    elif trust.is_script_function(value):
        cells = [cell for cell in value.__closure__ or () if cell != types.CellType()]
        yield from (("cell", cell.cell_contents) for cell in cells)
        yield from (("default", default) for default in value.__defaults__ or ())
        yield from (("attribute", found) for found in value.__dict__.values())
    elif issubclass(kind, type) and value not in trust.TRUSTED:
        members = type.__dict__["__dict__"].__get__(value)
        yield from ((f".{name}", found) for name, found in members.items() if not _is_dunder(name))
    if kind not in trust.TRUSTED:
        yield from ((f".{name}", found) for name, found in trust.instance_dict(value).items())
    elif not issubclass(kind, type) or value in trust.TRUSTED:
        yield from _given_out(value)


_probed: set[object] = set()


def _given_out(value: Any) -> Iterator[tuple[str, object]]:
    """All attributes that the guards return for an object of ours. Instances of a class are equivalent."""
    kind = type(value)
    which = id(value) if issubclass(kind, type) or issubclass(kind, facades.Facade) else kind
    if which in _probed:
        return
    _probed.add(which)
    try:
        listed = dir(value)
    except Exception:  # it lists keys that the script chose
        return
    for name in listed:
        try:
            found = attributes.read_by_name(value, name)
        except Exception:  # refused, or there is nothing
            continue
        yield f".{name}", found


# --- our objects are unchanged ---------------------------------------------------------------------------------


class Fingerprint:
    """The members of every class of ours, and every function and class of our modules."""

    def __init__(self) -> None:
        namespaces: list[tuple[str, Any]] = [
            (f"class {cls.__name__}", type.__dict__["__dict__"].__get__(cls)) for cls in trust.TRUSTED
        ]
        namespaces += [(f"façade {facade!r}", facades.members_of(facade)) for facade in _facades()]
        self._members = [
            (where, namespace, name, value)
            for where, namespace in namespaces
            for name, value in namespace.items()
            if isinstance(value, _FIXED)
        ]

    def changed(self) -> list[str]:
        """The members that were replaced or removed."""
        return [f"{where}.{name} was changed" for where, namespace, name, value in self._members
                if namespace.get(name) is not value]  # fmt: skip


_FIXED = (types.FunctionType, type, property, staticmethod, classmethod, *_METHODS)

# --- actions of a program outside the fence --------------------------------------------------------------------

_LOUD = (
    "open", "os.", "subprocess.", "socket.", "ctypes.", "gc.", "pickle.", "marshal.", "shutil.", "glob.", "mmap.",
    "tempfile.", "fcntl.", "signal.", "syslog.", "pty.", "import", "code.__new__", "function.__new__", "resource.",
    "builtins.input", "builtins.breakpoint", "cpython.", "sqlite3.", "sys.addaudithook", "sys.settrace",
    "sys.setprofile", "webbrowser.",
)  # fmt: skip
# What the fence does itself while a script runs: it counts coroutines, closes classes, marks code as the script's.
_OURS = ("gc.get_objects", "ctypes.cdata", "code.__new__")


class Listener:
    """The interpreter's own audit events, while a program runs. It cannot be taken off again."""

    def __init__(self) -> None:
        self.heard: list[str] | None = None
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.heard is None:
            return
        if event.startswith(_LOUD) and not (event.startswith(_OURS) and _called_by("winnow.sandbox.")):
            self.heard.append(f"event {event} {str(arguments)[:80]}")
        elif event == "object.__getattr__" and _called_by_script():
            self.heard.append(f"event {event} {arguments[1]}")


def _called_by(package: str) -> bool:
    return str(sys._getframe(2).f_globals.get("__name__")).startswith(package)


def _called_by_script() -> bool:
    return sys._getframe(2).f_globals is trust.script_globals
