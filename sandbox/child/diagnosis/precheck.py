"""Checks before a script runs: errors that are certain, reported before its first SDK call.

Only errors that must happen are reported: a name that nothing in the script binds, an SDK call that Python
refuses, a field that no row has; and only in code that is certain to run. Code under a condition or in a handler,
after a possible return or exit, or in a function that may not be called, is not checked: CPython would not report
it, either. The only assumption is that a search returns something, so the body of a loop over its rows is checked.

The walk follows the script from its first line, into the functions it calls and the loops that run at least once.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from winnow import client_sdk
from winnow.client_sdk.requests import CHOICES
from winnow.client_sdk.rows import FIELDS
from winnow.sandbox.child.language.allow_list import ALLOWED
from winnow.sandbox.child.language.import_advice import import_skill
from winnow.sandbox.child.language.transformer import Report

from . import hints
from .script_facts import LEAVES, MEMBERS, SCOPES, ScriptFacts, field_of_get

_BUILTIN_NAMES = frozenset({*vars(builtins), *LEAVES, *ALLOWED["winnow"], "help"})
_ROW_NAMES = frozenset({*dir(client_sdk.Row), *FIELDS})
_MOST_CALLS = 20  # calls within calls


def check(tree: ast.Module, report: Report, skills: frozenset[str] = frozenset()) -> None:
    """Walk a script that the policy has admitted, and report errors that are certain.

    ``skills``: the names in the module ``skills``.
    """
    facts = ScriptFacts(tree)
    if not facts.leaves_early:
        with contextlib.suppress(RecursionError):  # the compiler reports an expression that is too deep
            _Walker(facts, report, skills).block(tree.body)


class _Walker:
    """A walk through the code that is certain to run."""

    def __init__(self, facts: ScriptFacts, report: Report, skills: frozenset[str]) -> None:
        self._facts = facts
        self._report = report
        self._skills = skills
        self._called: list[str] = []

    # --- statements ---

    def block(self, statements: list[ast.stmt]) -> None:
        """Check the statements of a block, up to the first that may leave it."""
        for statement in statements:
            self._statement(statement)
            if _may_leave_block(statement):
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
                if _iterates_once(node.iter) or self._facts.is_page(node.iter):
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
        """Check an evaluated expression: only those of its parts that are always evaluated."""
        evaluate = _EVALUATORS.get(node.__class__)
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
        """A node that cannot fail, or is not evaluated."""

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
        if not isinstance(node.ctx, ast.Load) or name in self._facts.times or name in _BUILTIN_NAMES:
            return
        if name.startswith(("@", "__")):
            return
        known = {*self._facts.times, *_BUILTIN_NAMES}
        guess = import_skill(name) if name in self._skills else hints.suggest_name(name, sorted(known))
        self._report("NameError", f"name {name!r} is not defined", node, guess)

    def _attribute(self, node: ast.Attribute) -> None:
        owner, name = node.value, node.attr
        self.value(owner)
        if not isinstance(node.ctx, ast.Load):
            return
        known = MEMBERS.get(owner.id) if isinstance(owner, ast.Name) and owner.id in self._facts.sdk else None
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
        """Report only a misspelt field: a row may have fields that are not listed here."""
        if name in _ROW_NAMES or name.startswith("_") or not self._facts.is_row(owner):
            return
        if self._facts.sets_field(name):
            return
        guess = hints.suggest_public(name, FIELDS, 0.75)
        if guess is not None:
            self._report("MissingField", f"this row has no field {name!r}; {guess}", node, None)

    def _call(self, node: ast.Call) -> None:
        self._parts(node)
        function = self._facts.sdk_function(node.func)
        if function is not None:
            self._sdk_call(node, function)
        elif isinstance(node.func, ast.Name):
            self._enter(node.func.id)
        elif (read := field_of_get(node)) is not None:
            self._field(node, *read)
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            first = node.args[0] if node.args else None
            runs = self._facts.modules.get(node.func.value.id) == "asyncio" and node.func.attr == "run"
            if runs and isinstance(first, ast.Call) and isinstance(first.func, ast.Name):
                self._enter(first.func.id, awaited=True)

    def _enter(self, name: str, *, awaited: bool = False) -> None:
        """Check the body of a script function that is certain to be called."""
        function = self._facts.functions.get(name)
        if function is None or function.decorator_list or name in self._called or len(self._called) > _MOST_CALLS:
            return
        is_async = isinstance(function, ast.AsyncFunctionDef)
        if is_async is not awaited or _is_generator(function):
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
        refusal = _binding_error(name, node.args, keywords)
        if refusal is not None:
            unknown = next((given for given in keywords if given not in signature.parameters), None)
            takes = f"it takes: {name}{hints.format_signature(signature)}"
            guess = takes if unknown is None else hints.suggest_keyword(unknown, signature.parameters)
            self._report("TypeError", refusal, node, guess)
        for parameter, usual in CHOICES.items():
            choices = CHOICES.get(f"{name}.{parameter}", usual)
            given = keywords.get(parameter)
            if isinstance(given, ast.Constant) and isinstance(given.value, str) and given.value not in choices:
                guess = hints.suggest_public(given.value, choices) or f"one of {', '.join(map(repr, choices))}"
                self._report(
                    "SDKError", f"INVALID_REQUEST: {parameter}: no such value {given.value!r}", node, guess
                )


_EVALUATORS: Mapping[type[ast.AST], Callable[[_Walker, Any], None]] = {
    ast.Name: _Walker._name,
    ast.Attribute: _Walker._attribute,
    ast.Subscript: _Walker._item,
    ast.Call: _Walker._call,
    ast.Await: _Walker._await,
    ast.BoolOp: _Walker._first_value,
    ast.IfExp: _Walker._test,
    ast.Compare: _Walker._first_comparison,
    ast.Lambda: _Walker._defaults,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _Walker._comprehension),
    **dict.fromkeys((ast.Constant, ast.Load, ast.Store, ast.Del), _Walker._nothing),
}


def _binding_error(name: str, arguments: list[ast.expr], keywords: Mapping[str, ast.expr]) -> str | None:
    """Python's own error message for a call with these arguments, or None where it accepts them."""
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


def _iterates_once(iterable: ast.expr) -> bool:
    """Whether a loop over this is certain to run its body at least once."""
    if isinstance(iterable, (ast.List, ast.Tuple, ast.Set)):
        return any(not isinstance(element, ast.Starred) for element in iterable.elts)
    match iterable:
        case ast.Constant(value=str(text)):
            return bool(text)
    return False


def _may_leave_block(statement: ast.stmt) -> bool:
    """Whether the statement may leave its block without an error, so that what follows may not run."""
    pending: list[Any] = [statement]
    of_a_loop = isinstance(statement, _LOOPS)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Return) or (isinstance(node, (ast.Break, ast.Continue)) and not of_a_loop):
            return True
        if not isinstance(node, SCOPES):
            for name in _BLOCKS:
                pending += getattr(node, name, ())
    return False


_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def _is_generator(function: ast.AST) -> bool:
    pending = list(ast.iter_child_nodes(function))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, SCOPES):
            pending += ast.iter_child_nodes(node)
    return False
