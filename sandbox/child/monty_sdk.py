"""The SDK in the smaller language, fed to the interpreter before a script.

Calls of the host are in ``monty_calls``. Functions that arrange rows, and those that read documents, are the
source of ``client_sdk.shaping`` and ``client_sdk.reading`` without annotations and imports, which the language
lacks. Their names get an underscore, so that names of the script do not replace them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import ModuleType

from winnow import client_sdk
from winnow.client_sdk import shaping
from winnow.client_sdk.calls import GREP_FIELDS
from winnow.client_sdk.reading import document_calls, document_parts
from winnow.client_sdk.requests import EMPTY, IDS, LISTS, OPTIONS, TAKES_MISSING, UNSENT
from winnow.client_sdk.rows import ALIASES, COMMON_FIELDS, FIELDS, OPTIONAL_FIELDS, PLACE_FIELDS

from .monty_calls import CALLS
from .monty_functions import FUNCTIONS

# All names that a script has: those of the SDK without its classes.
NAMES = tuple(name for name in client_sdk.__all__ if not isinstance(getattr(client_sdk, name), type))
# Modules that both languages have, in the order in which they use each other.
_SHARED: tuple[ModuleType, ...] = (shaping, document_parts, document_calls)
# The functions of scripts in these modules.
SHARED = tuple(
    name for name in NAMES if any(getattr(client_sdk, name) is vars(each).get(name) for each in _SHARED)
)
# The other objects are made where their classes are defined.
_OBJECTS = "\n".join(f"{name} = Function(_{name})" for name in SHARED)


@cache
def prelude() -> str:
    """The source text to feed before a script; its value is a list of the objects of ``NAMES``."""
    tables = "\n".join(f"{name} = {value!r}" for name, value in _TABLES.items())
    plain = "\n".join(map(_write_plain, _SHARED))
    return f"{CALLS}\n{tables}\n{plain}\n{_OBJECTS}\n{FUNCTIONS}\n[{', '.join(NAMES)}]\n"


def _write_plain(module: ModuleType) -> str:
    source = (
        files(module.__package__ or "").joinpath(f"{module.__name__.rpartition('.')[2]}.py").read_text("utf-8")
    )
    tree = ast.parse(source)
    own = (node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
    names = {name: f"_{name}" for name in own if not name.startswith("_")}
    tree.body = [statement for statement in tree.body if not _is_left_out(statement)]
    return ast.unparse(ast.fix_missing_locations(_Plain({**_STAND_INS, **names}).visit(tree)))


# Tables of rows from the SDK of the whole language.
_TABLES = {
    "_FIELDS": FIELDS,
    "_COMMON": COMMON_FIELDS,
    "_ALIASES": dict(ALIASES),
    "_OPTIONAL": dict(OPTIONAL_FIELDS),
    "_GREP_FIELDS": GREP_FIELDS,
    "_EMPTY": dict(EMPTY),
    "_IDS": IDS,
    "_LISTS": LISTS,
    "_OPTIONS": dict(OPTIONS),
    "_TAKES_MISSING": TAKES_MISSING,
    "_UNSENT": dict(UNSENT),
    "_PLACE_FIELDS": PLACE_FIELDS,
}
# Replacements for names of the module; names of types that are used in annotations only are left out.
_STAND_INS = {
    **{name: f"_{name}" for name in ("cite", "find_links", "read_parts")},
    "bisect": "_bisect",
    "call": "_ask",
    "document_name": "_document",
    "SDKError": "_refusal",
    "to_row": "_to_row",
    "Row": "_Row",
    "Rows": "list",
    "Text": "str",
    "Groups": "dict",
    "Mapping": "_MAPPING",
    "count_tokens": "_counts",
    "FIELDS": "_FIELDS",
    "find_misspelling": "_misspelt",
    "callable": "_callable",
    "json": "_json",
    "re": "_re",
}
_ONLY_TYPES = frozenset({"Condition", "_Rendered"})


def _is_left_out(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        return any(isinstance(name, ast.Name) and name.id in _ONLY_TYPES for name in statement.targets)
    is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_docstring or isinstance(statement, (ast.Import, ast.ImportFrom))


class _Plain(ast.NodeTransformer):
    """A transformer that removes annotations and docstrings and inserts the replacements."""

    def __init__(self, stand_ins: Mapping[str, str]) -> None:
        self._stand_ins = stand_ins

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._stand_ins.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign:
        assert node.value is not None
        return ast.Assign([self.visit(node.target)], self.visit(node.value))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        body = [self.visit(one) for one in node.body if not _is_left_out(one)]
        return ast.ClassDef(self._stand_ins.get(node.name, node.name), [], [], body, [])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        body = [statement for statement in node.body if not _is_left_out(statement)]
        name = self._stand_ins.get(node.name, node.name)
        return ast.FunctionDef(name, self.visit(node.args), [self.visit(one) for one in body], [], None)
