"""Definitions, imports and calls in source code: Python by its parser, other languages by keywords. Pure."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from winnow.server.readers.extraction.rules import Rule
from winnow.server.text.markup.syntax_trees import retry_trees
from winnow.server.text.words.definitions import DEFINITION

SymbolKind = Literal["module", "class", "function", "identifier"]

_ROOTS = frozenset({"src", "lib", "python"})  # folders that hold packages and are not packages
_PYTHON = re.compile(r"\.pyi?\Z")
# Kind -> keywords that open such a definition; other keywords define an "identifier".
_KEYWORDS: Mapping[SymbolKind, str] = {
    "class": "class interface struct enum trait",
    "function": "def func function fn",
    "module": "module namespace",
}
_KIND_BY_KEYWORD: Mapping[str, SymbolKind] = MappingProxyType(
    {word: kind for kind, words in _KEYWORDS.items() for word in words.split()}
)
_MAX_DEFINITIONS = 2000  # in one file; more are generated code

_Scope = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition of a module, class or function, with its full name, short name and start offset."""

    name: str
    short: str
    type: SymbolKind
    start: int
    rule: Rule


@dataclass(frozen=True, slots=True)
class CodeReference:
    """An import or a call at ``start``: ``source`` refers to ``target`` (full names), which is of ``type``."""

    source: str
    target: str
    kind: Literal["IMPORTS", "CALLS"]
    type: Literal["module", "function"]
    start: int


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """The definitions and references in a file of source code."""

    module: str
    definitions: tuple[Definition, ...] = ()
    uses: tuple[CodeReference, ...] = ()


def read_code(uri: str, text: str) -> CodeFacts:
    """Read the definitions of a file and, if it is valid Python, its imports and calls."""
    if _PYTHON.search(uri):
        module = module_name(uri)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                tree = retry_trees(ast.parse, text)
            return _read_python(module, tree, text, is_package=uri.endswith("__init__.py"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    return CodeFacts("", tuple(_find_definitions(text)))


def module_name(uri: str) -> str:
    """The dotted name of a Python file.

    >>> module_name("src/pkg/graph/__init__.py")
    'pkg.graph'
    """
    parts = _PYTHON.sub("", uri).split("/")
    parts = parts[1:] if len(parts) > 1 and parts[0] in _ROOTS else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _find_definitions(text: str) -> Iterator[Definition]:
    for count, match in enumerate(DEFINITION.finditer(text)):
        if count == _MAX_DEFINITIONS:
            return
        kind = _KIND_BY_KEYWORD.get(match["word"], "identifier")
        short = re.split(r"\.|::", match["name"])[-1]
        yield Definition(match["name"], short, kind, match.start(), "definition")


# --- Python


def _read_python(module: str, tree: ast.Module, text: str, *, is_package: bool) -> CodeFacts:
    reader = _PythonReader(module, _find_line_starts(text), is_package=is_package)
    reader.bind_names(tree)
    reader.collect(tree, ())
    return CodeFacts(
        module, tuple(reader.definitions[:_MAX_DEFINITIONS]), tuple(dict.fromkeys(reader.uses))[:_MAX_DEFINITIONS]
    )


class _PythonReader:
    """Reads one file in two passes: bindings first, so that a call may come before the definition."""

    def __init__(self, module: str, lines: list[int], *, is_package: bool) -> None:
        self._module = module
        self._lines = lines
        self._package = module if is_package else module.rpartition(".")[0]
        self._bound: dict[str, str] = {}  # name at the top of the file -> full name
        self.definitions = [Definition(module, "", "module", 0, "parsed code")]
        self.uses: list[CodeReference] = []

    def bind_names(self, tree: ast.Module) -> None:
        """Bind the imports of the whole file and the definitions at its top level."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._add_import(alias.name, node)
                    self._bind(alias.asname or alias.name.partition(".")[0], alias.name if alias.asname else "")
            elif isinstance(node, ast.ImportFrom) and (origin := self._origin(node)):
                self._add_import(origin, node)
                for alias in node.names:
                    self._bind(alias.asname or alias.name, f"{origin}.{alias.name}")
        for statement in tree.body:
            if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                self._bound[statement.name] = f"{self._module}.{statement.name}"

    def collect(self, node: ast.AST, scope: _Scope) -> None:
        """Collect the definitions below ``node`` and the calls in them."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                self._add_definition(child, scope)
                self.collect(child, (*scope, child.name))
            else:
                if isinstance(child, ast.Call) and (target := self._callee(child.func, scope)):
                    source = ".".join((self._module, *scope))
                    self.uses.append(CodeReference(source, target, "CALLS", "function", self._start(child)))
                self.collect(child, scope)

    def _add_definition(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope) -> None:
        name = ".".join((self._module, *scope, node.name))
        kind: Literal["class", "function"] = "class" if isinstance(node, ast.ClassDef) else "function"
        short = "" if scope or node.name.startswith("_") else node.name
        self.definitions.append(Definition(name, short, kind, self._start(node), "parsed code"))

    def _callee(self, called: ast.expr, scope: _Scope) -> str:
        """The full name of the called function; "" if this file alone does not determine the name."""
        names: list[str] = []
        while isinstance(called, ast.Attribute):
            names.insert(0, called.attr)
            called = called.value
        if not isinstance(called, ast.Name):
            return ""
        if called.id in ("self", "cls") and len(scope) > 1 and len(names) == 1:
            return ".".join((self._module, *scope[:-1], *names))
        full = self._bound.get(called.id, "")
        return ".".join((full, *names)) if full else ""

    def _bind(self, name: str, full: str) -> None:
        self._bound[name] = full or name

    def _add_import(self, module: str, node: ast.stmt) -> None:
        self.uses.append(CodeReference(self._module, module, "IMPORTS", "module", self._start(node)))

    def _origin(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        above = self._package.split(".") if self._package else []
        kept = above[: len(above) - node.level + 1]
        return ".".join([*kept, *filter(None, [node.module])])

    def _start(self, node: ast.stmt | ast.expr) -> int:
        return self._lines[min(node.lineno, len(self._lines)) - 1]


def _find_line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]
