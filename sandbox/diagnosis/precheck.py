"""Errors that are certain before a script runs, told before its first SDK call.

Only what must happen is told: a name that nothing in the script binds, an SDK call that Python refuses, a field
that no row has; and only where the script is sure to come by. Whatever lies behind a condition, a handler,
a possible return or exit, or in a function that nobody is sure to call, is left to run: CPython would not complain
of it either. One thing is taken for granted: that a search finds something, so the body of a loop over its rows is
looked at.

The walk follows the script from its first line, into the functions it calls and the loops that turn at least once.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import client_sdk
from client_sdk.calls import CHOICES
from client_sdk.rows import FIELDS
from sandbox.language.allow_list import MENU
from sandbox.language.policy import Report, every_node

from . import hints

_SDK_MODULES = ("winnow", "client_sdk")
_RETURNS_A_ROW = frozenset({"kb.read_excerpt", "kb.expand_excerpt"})
_NO_ROWS = frozenset(
    {
        "search_many",
        "group_by",
        "summarize",
        "quotes",
        "cite",
        "format_for_agent",
        "tokens",
        "budget",
        "progress",
        "read_result",
    }
)
# What they are given they give back, in part.
_KEEPS_ROWS = frozenset({"filter_rows", "filter_by_domain", "filter_by_score", "dedupe", "rerank"})
_RETURNS_ROWS = frozenset({"kb.fetch", "kb.semantic_search", *hints.SDK} - _NO_ROWS - _KEEPS_ROWS - _RETURNS_A_ROW)
_PAGES_OWN_NAMES = frozenset({"results", "quotes", "entities"})
# What the SDK's objects have.
_MEMBERS: Mapping[str, frozenset[str]] = {
    owner: frozenset(name for name in dir(value) if not name.startswith("_"))
    for owner, value in hints.OBJECTS.items()
}
_LEAVES = frozenset({"exit", "quit", "SystemExit"})
_PRESENT = frozenset({*vars(builtins), *_LEAVES, *MENU["winnow"], "help"})
_ROW_NAMES = frozenset({*dir(client_sdk.Row), *FIELDS})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ClassDef)
_TYPE_PARAMETERS = ("TypeVar", "ParamSpec", "TypeVarTuple")  # of Python 3.12 and later
_DEEPEST = 20  # calls within calls


def check(tree: ast.Module, report: Report) -> None:
    """Walk a script that the policy has admitted, and report what is certain to go wrong."""
    facts = _Facts(tree)
    if not facts.leaves_early:
        with contextlib.suppress(RecursionError):  # a deep expression is for the compiler to judge
            _Walk(facts, report).block(tree.body)


class _Facts:
    """What holds for the whole script, gathered in one pass."""

    def __init__(self, tree: ast.Module) -> None:
        self.times: Counter[str] = Counter()  # how often each name is bound, in whatever scope
        self.leaves_early = False  # it may end well before its last line
        self.modules: dict[str, str] = {}
        self._set: Counter[str] = Counter()  # texts and attributes that may name a field the script itself sets
        self._from_sdk: Counter[str] = Counter()
        self._assigned: list[tuple[str, ast.expr]] = []
        self._looped: list[tuple[str, ast.expr]] = []
        for node in every_node(tree):
            gather = _GATHER.get(node.__class__)
            if gather is not None:
                gather(self, node)
        functions = (node for node in tree.body if isinstance(node, _FUNCTIONS))
        self.functions = {node.name: node for node in functions if self.times[node.name] == 1}
        self.modules = {name: module for name, module in self.modules.items() if self.times[name] == 1}
        # The SDK's own, where the script binds the name to nothing else.
        self.sdk = {name for name in MENU["winnow"] if self.times[name] == self._from_sdk[name]}
        self.pages: set[str] = set()
        self.rows: set[str] = set()
        self.pages = self._always(self._assigned, self.is_page)
        self.rows = self._always(self._looped, self.is_page)
        self.rows |= self._always(self._assigned, self.is_row)

    # --- gathering ---

    def _name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.times[node.id] += 1
        elif node.id in _LEAVES:
            self.leaves_early = True

    def _argument(self, node: ast.arg) -> None:
        self.times[node.arg] += 1

    def _named(self, node: Any) -> None:
        self.times[node.name or ""] += 1

    def _mapping_pattern(self, node: ast.MatchMapping) -> None:
        self.times[node.rest or ""] += 1

    def _attribute(self, node: ast.Attribute) -> None:
        if node.attr == "exit":
            self.leaves_early = True
        if not isinstance(node.ctx, ast.Load):
            self._set[node.attr] += 1

    def _text(self, node: ast.Constant) -> None:
        if type(node.value) is str:
            self._set[node.value] += 1

    def _item(self, node: ast.Subscript) -> None:
        if (
            isinstance(node.ctx, ast.Load)
            and isinstance(node.slice, ast.Constant)
            and type(node.slice.value) is str
        ):
            self._set[node.slice.value] -= 1  # reading an item sets none

    def _call(self, node: ast.Call) -> None:
        if (asked := _got(node)) is not None:
            self._set[asked[1]] -= 1  # nor does .get

    def _keyword(self, node: ast.keyword) -> None:
        self._set[node.arg or ""] += 1

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self.times[name] += 1
            self.modules[name] = alias.name if alias.asname else name

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.times[alias.asname or alias.name] += 1
            if node.module == "sys" and alias.name == "exit":
                self.leaves_early = True
            if node.module in _SDK_MODULES and alias.asname in (None, alias.name):
                self._from_sdk[alias.name] += 1

    def _assignment(self, node: ast.Assign) -> None:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._assigned.append((node.targets[0].id, node.value))

    def _loop(self, node: Any) -> None:
        if isinstance(node.target, ast.Name):
            self._looped.append((node.target.id, node.iter))

    # --- asking ---

    def sets_field(self, name: str) -> bool:
        """Whether the script may itself give something a field of this name."""
        return self._set[name] > 0

    def _always(self, found: list[tuple[str, ast.expr]], is_one: Callable[[ast.expr], bool]) -> set[str]:
        """The names that are never bound to anything else."""
        times = Counter(name for name, value in found if is_one(value))
        return {name for name, count in times.items() if count == self.times[name]}

    def is_page(self, value: ast.expr) -> bool:
        """Whether this is certain to be a page of rows."""
        match _awaited(value):
            case ast.Name(id=name):
                return name in self.pages
            case (
                ast.Attribute(value=owner, attr=name) | ast.Subscript(value=owner, slice=ast.Constant(value=name))
            ):
                return name in _PAGES_OWN_NAMES and self.is_page(owner)
            case ast.Call(func=ast.Attribute(value=page, attr="all"), args=[], keywords=[]):
                return self.is_page(page)
            case ast.Call(func=function, args=arguments):
                called = self.sdk_function(function)
                given = arguments[called == "rerank" :]
                return called in _RETURNS_ROWS or (
                    called in _KEEPS_ROWS and bool(given) and self.is_page(given[0])
                )
        return False

    def is_row(self, value: ast.expr) -> bool:
        """Whether this is certain to be a row."""
        value = _awaited(value)
        if isinstance(value, ast.Name):
            return value.id in self.rows
        if isinstance(value, ast.Call):
            return self.sdk_function(value.func) in _RETURNS_A_ROW
        if not isinstance(value, ast.Subscript) or not self.is_page(value.value):
            return False
        index = value.slice
        if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
            index = index.operand
        return isinstance(index, ast.Constant) and type(index.value) is int

    def sdk_function(self, function: ast.expr) -> str | None:
        """The SDK's name of what is called, if it is certain to be the SDK's."""
        match function:
            case ast.Name(id=name) if name in self.sdk and name in hints.SDK:
                return name
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in self.sdk:
                return f"{owner}.{name}" if name in _MEMBERS.get(owner, ()) else None
        return None


_GATHER: Mapping[type[ast.AST], Callable[[_Facts, Any], None]] = {
    ast.Name: _Facts._name,
    ast.arg: _Facts._argument,
    **dict.fromkeys((*_SCOPES[:2], ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar), _Facts._named),
    **dict.fromkeys((getattr(ast, name) for name in _TYPE_PARAMETERS if hasattr(ast, name)), _Facts._named),
    ast.MatchMapping: _Facts._mapping_pattern,
    ast.Attribute: _Facts._attribute,
    ast.Constant: _Facts._text,
    ast.Subscript: _Facts._item,
    ast.Call: _Facts._call,
    ast.keyword: _Facts._keyword,
    ast.Import: _Facts._import,
    ast.ImportFrom: _Facts._import_from,
    ast.Assign: _Facts._assignment,
    **dict.fromkeys((ast.For, ast.AsyncFor, ast.comprehension), _Facts._loop),
}


class _Walk:
    """Follows what is certain to run."""

    def __init__(self, facts: _Facts, report: Report) -> None:
        self._facts = facts
        self._report = report
        self._called: list[str] = []

    # --- statements ---

    def block(self, statements: list[ast.stmt]) -> None:
        """Statement by statement, until something may end the block."""
        for statement in statements:
            self._statement(statement)
            if _may_end(statement):
                return

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for decorator in node.decorator_list:
                    self.value(decorator)
                self._defaults(node)
            case ast.ClassDef():
                for value in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
                    self.value(value)
                self.block(node.body)
            case ast.If(test=test):
                self.value(test)
                if _is_main_guard(test) and not self._facts.times["__name__"]:
                    self.block(node.body)
            case ast.For() | ast.AsyncFor():
                self.value(node.iter)
                if _turns(node.iter) or self._facts.is_page(node.iter):
                    self.block(node.body)
            case ast.While(test=test):
                self.value(test)
            case ast.With() | ast.AsyncWith():
                self.value(node.items[0].context_expr)
                if all(self._is_client(item.context_expr) for item in node.items):
                    self.block(node.body)
            case ast.Import() | ast.ImportFrom():
                pass
            case ast.Try() | ast.TryStar():
                if not node.handlers:
                    self.block(node.body)
            case ast.Match(subject=subject):
                self.value(subject)
            case ast.AnnAssign(value=value):
                if value is not None:
                    self.value(value)
            case _:
                self._parts(node)

    def _is_client(self, value: ast.expr) -> bool:
        return (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Name)
            and value.func.id == "MCPClient"
            and "MCPClient" in self._facts.sdk
        )

    # --- expressions ---

    def value(self, node: ast.AST) -> None:
        """An expression that is evaluated; of its parts only those that are evaluated whatever the others give."""
        evaluate = _EVALUATE.get(node.__class__)
        if evaluate is not None:
            evaluate(self, node)
        else:
            self._parts(node)

    def _parts(self, node: ast.AST) -> None:
        for value in node.__dict__.values():
            if value.__class__ is list:
                for item in value:
                    if isinstance(item, ast.AST):
                        self.value(item)
            elif isinstance(value, ast.AST):
                self.value(value)

    def _nothing(self, node: ast.AST) -> None:
        """Cannot go wrong, or is not evaluated."""

    def _first_value(self, node: ast.BoolOp) -> None:
        self.value(node.values[0])

    def _test(self, node: ast.IfExp) -> None:
        self.value(node.test)

    def _first_comparison(self, node: ast.Compare) -> None:
        self.value(node.left)
        self.value(node.comparators[0])

    def _defaults(self, node: Any) -> None:
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.value(default)

    def _comprehension(self, node: Any) -> None:
        first = node.generators[0]
        self.value(first.iter)
        lazy = isinstance(node, ast.GeneratorExp)
        if len(node.generators) > 1 or first.ifs or lazy or not self._facts.is_page(first.iter):
            return
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.value(part)

    def _await(self, node: ast.Await) -> None:
        self.value(node.value)
        match node.value:
            case ast.Call(func=ast.Name(id=name)):
                self._enter(name, awaited=True)

    # --- findings ---

    def _name(self, node: ast.Name) -> None:
        name = node.id
        if not isinstance(node.ctx, ast.Load) or name in self._facts.times or name in _PRESENT:
            return
        if name.startswith(("@", "__")):
            return
        known = {*self._facts.times, *_PRESENT}
        self._report("NameError", f"name {name!r} is not defined", node, hints.for_name(name, sorted(known)))

    def _attribute(self, node: ast.Attribute) -> None:
        owner, name = node.value, node.attr
        self.value(owner)
        if not isinstance(node.ctx, ast.Load):
            return
        known = _MEMBERS.get(owner.id) if isinstance(owner, ast.Name) and owner.id in self._facts.sdk else None
        if isinstance(owner, ast.Name) and known is not None:
            if name not in known:
                self._unknown_member(node, owner.id)
        else:
            self._field(node, owner, name)

    def _unknown_member(self, node: ast.Attribute, owner: str) -> None:
        try:
            getattr(hints.OBJECTS[owner], node.attr)
        except AttributeError as error:
            self._report("AttributeError", str(error), node, None)

    def _item(self, node: ast.Subscript) -> None:
        self.value(node.value)
        self.value(node.slice)
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Load()):
                self._field(node, node.value, name)

    def _field(self, node: ast.AST, owner: ast.expr, name: str) -> None:
        """Only what looks like a field: a host may know more of its rows than we do."""
        if name in _ROW_NAMES or name.startswith("_") or not self._facts.is_row(owner):
            return
        if self._facts.sets_field(name):
            return
        guess = hints.close(name, FIELDS, 0.75)
        if guess is not None:
            self._report("MissingField", f"this row has no field {name!r}; {guess}", node, None)

    def _call(self, node: ast.Call) -> None:
        self._parts(node)
        function = self._facts.sdk_function(node.func)
        if function is not None:
            self._sdk_call(node, function)
        elif isinstance(node.func, ast.Name):
            self._enter(node.func.id)
        elif (asked := _got(node)) is not None:
            self._field(node, *asked)
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            first = node.args[0] if node.args else None
            runs = self._facts.modules.get(node.func.value.id) == "asyncio" and node.func.attr == "run"
            if runs and isinstance(first, ast.Call) and isinstance(first.func, ast.Name):
                self._enter(first.func.id, awaited=True)

    def _enter(self, name: str, *, awaited: bool = False) -> None:
        """Into the body of a function of the script's that is certain to be called."""
        function = self._facts.functions.get(name)
        if function is None or function.decorator_list or name in self._called or len(self._called) > _DEEPEST:
            return
        is_async = isinstance(function, ast.AsyncFunctionDef)
        if is_async is not awaited or _yields(function):
            return
        self._called.append(name)
        self.block(function.body)

    def _sdk_call(self, node: ast.Call, function: str) -> None:
        name = function if function in hints.SIGNATURES else function.removeprefix("kb.")
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return
        keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        if len(keywords) < len(node.keywords):
            return
        signature = hints.SIGNATURES[name]
        refusal = _refusal(name, node.args, keywords)
        if refusal is not None:
            unknown = next((given for given in keywords if given not in signature.parameters), None)
            takes = f"it takes: {name}{hints.shown(signature)}"
            guess = takes if unknown is None else hints.for_keyword(unknown, signature.parameters)
            self._report("TypeError", refusal, node, guess)
        for parameter, choices in CHOICES.items():
            given = keywords.get(parameter)
            if isinstance(given, ast.Constant) and isinstance(given.value, str) and given.value not in choices:
                guess = hints.close(given.value, choices) or f"one of {', '.join(map(repr, choices))}"
                self._report(
                    "SDKError", f"INVALID_REQUEST: {parameter}: no such value {given.value!r}", node, guess
                )


_EVALUATE: Mapping[type[ast.AST], Callable[[_Walk, Any], None]] = {
    ast.Name: _Walk._name,
    ast.Attribute: _Walk._attribute,
    ast.Subscript: _Walk._item,
    ast.Call: _Walk._call,
    ast.Await: _Walk._await,
    ast.BoolOp: _Walk._first_value,
    ast.IfExp: _Walk._test,
    ast.Compare: _Walk._first_comparison,
    ast.Lambda: _Walk._defaults,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _Walk._comprehension),
    **dict.fromkeys((ast.Constant, ast.Load, ast.Store, ast.Del), _Walk._nothing),
}


def _got(node: ast.Call) -> tuple[ast.expr, str] | None:
    """Whose field, and which, where this is ``row.get("title")``."""
    match node:
        case ast.Call(func=ast.Attribute(owner, "get"), args=[ast.Constant(str(name)), *_]):
            return owner, name
    return None


def _awaited(value: ast.expr) -> ast.expr:
    return value.value if isinstance(value, ast.Await) else value


def _refusal(name: str, arguments: list[ast.expr], keywords: Mapping[str, ast.expr]) -> str | None:
    """What Python says to a call with such arguments, in its own words; None where it takes them."""
    try:
        hints.SIGNATURES[name].bind(*arguments, **keywords)
    except TypeError:
        try:
            hints.SDK[name](*arguments, **keywords)  # refused before the function's first line
        except TypeError as error:
            return str(error)
    return None


def _is_main_guard(test: ast.expr) -> bool:
    match test:
        case ast.Compare(
            left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]
        ):
            return True
    return False


def _turns(iterable: ast.expr) -> bool:
    """Whether a loop over this is certain to turn once."""
    if isinstance(iterable, (ast.List, ast.Tuple, ast.Set)):
        return any(not isinstance(element, ast.Starred) for element in iterable.elts)
    match iterable:
        case ast.Constant(value=str(text)):
            return bool(text)
    return False


def _may_end(statement: ast.stmt) -> bool:
    """Whether what follows the statement in its block may not be reached, the script being none the worse."""
    pending: list[Any] = [statement]
    of_a_loop = isinstance(statement, _LOOPS)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Return) or (isinstance(node, (ast.Break, ast.Continue)) and not of_a_loop):
            return True
        if not isinstance(node, _SCOPES):
            for name in _BLOCKS:
                pending += getattr(node, name, ())
    return False


_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def _yields(function: ast.AST) -> bool:
    pending = list(ast.iter_child_nodes(function))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, _SCOPES):
            pending += ast.iter_child_nodes(node)
    return False
