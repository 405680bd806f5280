"""Facts about a whole script that the checks before it runs rely on: names, rows and pages of rows."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from winnow.sandbox.child.language.allow_list import ALLOWED
from winnow.sandbox.child.language.bound_names import every_node

from . import hints

_SDK_MODULES = ("winnow", "client_sdk")
# Rows, but with fields of any name (those of front matter), or with fields that no other rows have.
_FIELDS_OF_THEIR_OWN = frozenset({"documents", "read", "count", "budget", "fields", "row"})
# These return some of the rows passed to them.
_KEEPS_ROWS = frozenset({"filter_rows", "filter_by_domain", "filter_by_score", "dedupe", "rerank"})


def _returning(annotation: str) -> frozenset[str]:
    """The SDK functions with this return type whose rows have the usual fields."""
    returning = {name for name, each in hints.SIGNATURES.items() if each.return_annotation == annotation}
    return frozenset(returning - _FIELDS_OF_THEIR_OWN - _KEEPS_ROWS)


_RETURNS_A_ROW = _returning("Row")
_RETURNS_ROWS = _returning("Results") | {"kb.fetch", "kb.semantic_search"}
_PARTS_OF_PAGES = frozenset({"results", "quotes", "entities", "entries"})

# The public members of the SDK's objects.
MEMBERS: Mapping[str, frozenset[str]] = {
    owner: frozenset(name for name in dir(value) if not name.startswith("_"))
    for owner, value in hints.OBJECTS.items()
}
LEAVES = frozenset({"exit", "quit", "SystemExit"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ClassDef)
_TYPE_PARAMETERS = ("TypeVar", "ParamSpec", "TypeVarTuple")  # of Python 3.12 and later


class ScriptFacts:
    """Facts about the whole script, gathered in one pass."""

    def __init__(self, tree: ast.Module) -> None:
        self.times: Counter[str] = Counter()  # how often each name is bound, in any scope
        self.leaves_early = False  # whether the script may exit without an error before its last line
        self.modules: dict[str, str] = {}
        self._set: Counter[str] = Counter()  # strings and attributes that may name a field that the script sets
        self._from_sdk: Counter[str] = Counter()
        self._assigned: list[tuple[str, ast.expr]] = []
        self._looped: list[tuple[str, ast.expr]] = []
        for node in every_node(tree):
            gather = _GATHERERS.get(node.__class__)
            if gather is not None:
                gather(self, node)
        functions = (node for node in tree.body if isinstance(node, _FUNCTIONS))
        self.functions = {node.name: node for node in functions if self.times[node.name] == 1}
        self.modules = {name: module for name, module in self.modules.items() if self.times[name] == 1}
        # SDK names that the script binds to nothing else.
        self.sdk = {name for name in ALLOWED["winnow"] if self.times[name] == self._from_sdk[name]}
        self.pages: set[str] = set()
        self.rows: set[str] = set()
        self.pages = self._always(self._assigned, self.is_page)
        self.rows = self._always(self._looped, self.is_page)
        self.rows |= self._always(self._assigned, self.is_row)

    # --- gathering ---

    def _name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.times[node.id] += 1
        elif node.id in LEAVES:
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
            self._set[node.slice.value] -= 1  # reading an item sets no field

    def _call(self, node: ast.Call) -> None:
        if (read := field_of_get(node)) is not None:
            self._set[read[1]] -= 1  # nor does .get()

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

    # --- questions ---

    def sets_field(self, name: str) -> bool:
        """Whether the script may set a field of this name on some object."""
        return self._set[name] > 0

    def _always(self, bindings: list[tuple[str, ast.expr]], predicate: Callable[[ast.expr], bool]) -> set[str]:
        """The names that are only ever bound to values for which the predicate holds."""
        times = Counter(name for name, value in bindings if predicate(value))
        return {name for name, count in times.items() if count == self.times[name]}

    def is_page(self, value: ast.expr) -> bool:
        """Whether the value is certain to be a page of rows."""
        match _unwrap_await(value):
            case ast.Name(id=name):
                return name in self.pages
            case (
                ast.Attribute(value=owner, attr=name) | ast.Subscript(value=owner, slice=ast.Constant(value=name))
            ):
                return name in _PARTS_OF_PAGES and self.is_page(owner)
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
        """Whether the value is certain to be a row."""
        value = _unwrap_await(value)
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
        """The SDK function that is called, if it is certain to be one."""
        match function:
            case ast.Name(id=name) if name in self.sdk and name in hints.SDK:
                return name
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in self.sdk:
                return f"{owner}.{name}" if name in MEMBERS.get(owner, ()) else None
        return None


_GATHERERS: Mapping[type[ast.AST], Callable[[ScriptFacts, Any], None]] = {
    ast.Name: ScriptFacts._name,
    ast.arg: ScriptFacts._argument,
    **dict.fromkeys(
        (*SCOPES[:2], ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar), ScriptFacts._named
    ),
    **dict.fromkeys((getattr(ast, name) for name in _TYPE_PARAMETERS if hasattr(ast, name)), ScriptFacts._named),
    ast.MatchMapping: ScriptFacts._mapping_pattern,
    ast.Attribute: ScriptFacts._attribute,
    ast.Constant: ScriptFacts._text,
    ast.Subscript: ScriptFacts._item,
    ast.Call: ScriptFacts._call,
    ast.keyword: ScriptFacts._keyword,
    ast.Import: ScriptFacts._import,
    ast.ImportFrom: ScriptFacts._import_from,
    ast.Assign: ScriptFacts._assignment,
    **dict.fromkeys((ast.For, ast.AsyncFor, ast.comprehension), ScriptFacts._loop),
}


def field_of_get(node: ast.Call) -> tuple[ast.expr, str] | None:
    """The owner and the name of the field, if this is a call like ``row.get("title")``."""
    match node:
        case ast.Call(func=ast.Attribute(owner, "get"), args=[ast.Constant(str(name)), *_]):
            return owner, name
    return None


def _unwrap_await(value: ast.expr) -> ast.expr:
    return value.value if isinstance(value, ast.Await) else value
