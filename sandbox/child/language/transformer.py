"""The base of the policy: errors with their place, scopes, and the check of names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

from . import names
from .allow_list import ALLOWED, WITHHELD_BUILTINS
from .refusals import Rejected
from .script_source import split_lines

MATCH_ARGS_NAME, SLOTS_NAME = "__match_args__", "__slots__"

Report = Callable[[str, str, ast.AST, str | None], Any]


class CheckedTransformer(RestrictingNodeTransformer):
    """RestrictedPython's transformer with scopes, checks of names, and errors that have a line and a column."""

    def __init__(self, source: str, allowed: Mapping[str, frozenset[str]] = ALLOWED) -> None:
        super().__init__()
        self._allowed = allowed
        self.is_async = False
        self.flags = 0
        self._lines = split_lines(source)
        self._scopes: list[ast.AST] = []  # functions and classes around the node
        self._tolerant = 0  # depth of blocks in which imports may fail at run time
        self._bound: frozenset[str] = frozenset()
        self._plainly_bound: set[ast.AST] = set()  # names whose assigned value was checked

    # --- refusing ---

    def report(self, type: str, message: str, node: ast.AST, hint: str | None) -> Any:
        """Raise Rejected for an error in the script, as opposed to a refusal."""
        raise Rejected(type, message, getattr(node, "lineno", None), self._column(node), hint)

    def refuse(self, node: ast.AST, message: str, hint: str | None = None) -> Any:
        """Raise Rejected because the policy does not allow this node."""
        line = getattr(node, "lineno", None)
        raise Rejected("CodeRejected", message, line, self._column(node), hint)

    def _column(self, node: ast.AST) -> int | None:
        line, offset = getattr(node, "lineno", None), getattr(node, "col_offset", None)
        if line is None or offset is None or not 0 < line <= len(self._lines):
            return None
        # col_offset counts bytes.
        return len(self._lines[line - 1].encode()[:offset].decode(errors="ignore")) + 1

    def error(self, node: ast.AST, info: str) -> None:
        """Refuse what the base class refuses."""
        self.refuse(node, info)

    def warn(self, node: ast.AST, info: str) -> None:
        """Drop the warnings of the base class."""

    def not_allowed(self, node: ast.AST) -> None:
        """Refuse a node without a visit method of its own."""
        self.refuse(node, f"{type(node).__name__} is not part of this Python")

    # --- scopes ---

    @contextmanager
    def _inside(self, scope: ast.AST) -> Iterator[None]:
        self._scopes.append(scope)
        try:
            yield
        finally:
            self._scopes.pop()

    def _in_class_body(self) -> bool:
        return bool(self._scopes) and isinstance(self._scopes[-1], ast.ClassDef)

    def _mangled(self, name: str) -> str:
        classes = [scope.name for scope in self._scopes if isinstance(scope, ast.ClassDef)]
        return names.mangled(name, classes[-1] if classes else None)

    # --- names ---

    def check_name(self, node: ast.AST, name: str | None, allow_magic_methods: bool = False) -> None:
        """Refuse a name that a script may neither read nor bind."""
        if name is None or not name.startswith("__") or not names.is_dunder(name):
            return
        if name in names.MODULE_NAMES or (self._in_class_body() and name in names.CLASS_NAMES):
            return
        hint = names.instead(name, "use a name without double underscores")
        self.refuse(node, f"the name {name!r} is not available", hint)

    def _bind(self, node: ast.AST, name: str | None) -> None:
        self.check_name(node, name)
        if name == "super":
            self.refuse(node, "'super' may not be bound to something else", "choose another name")
        if name == "__debug__":
            self.refuse(node, "'__debug__' may not be bound")
        if name == MATCH_ARGS_NAME and node not in self._plainly_bound:
            self.refuse(node, f"{MATCH_ARGS_NAME} is set by plain assignment of a tuple")
        if name == SLOTS_NAME and node not in self._plainly_bound:
            self.refuse(node, f"{SLOTS_NAME} is set by plain assignment")
        if (name in names.WITH_OPERANDS or name == names.CONSTRUCTOR) and node not in self._plainly_bound:
            self.refuse(node, f"{name} is set by def or by plain assignment")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Refuse dunder names and withheld builtins, with a hint what to use instead."""
        if isinstance(node.ctx, ast.Load):
            self.check_name(node, node.id)
            if node.id == SLOTS_NAME:
                self.refuse(node, f"{SLOTS_NAME} may not be read in a class body", "read it from the class")
            if node.id in WITHHELD_BUILTINS and node.id not in self._bound:
                self.refuse(node, f"{node.id!r} is not available in a script", WITHHELD_BUILTINS[node.id])
        else:
            self._bind(node, node.id)
        return node
