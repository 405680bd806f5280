"""The documentation of the running Python, read from its source: a large corpus on every machine.

Sources are parsed, not imported, so nothing of them runs and the same Python gives the same corpus. The few
compiled modules that have no source are named in a table; importing those has no effect.

A private module is documented only through the public module that re-exports its names (``Future`` of
``concurrent.futures`` lives in ``concurrent.futures._base``).
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from winnow.server.readers.documents import RawDocument

# Where the documentation is indexed: equal for `winnow demo` and `winnow eval`, so that they can share a store.
PROJECT, SOURCE = "python-stdlib", "python"

DefinitionKind = Literal["class", "function"]

# Programs, games, test suites and vendored code: not documentation of a library.
LEFT_OUT = frozenset(
    {"__phello__", "antigravity", "distutils", "ensurepip", "idlelib", "lib2to3", "pydoc_data"}
    | {"test", "this", "tkinter", "turtle", "turtledemo"}
)
# Folders inside packages that hold tests or one table per file.
LEFT_OUT_INSIDE = frozenset({"test", "tests", "encodings"})
# Written in C, present in every build, and imported by the interpreter itself or free of effects.
COMPILED = (
    "array",
    "binascii",
    "builtins",
    "cmath",
    "errno",
    "gc",
    "itertools",
    "marshal",
    "math",
    "sys",
    "time",
    "zlib",
)

_STARS = re.compile(r"\*, |\*+(?=\w)")
# Starts of a docstring's line that Markdown reads as a heading, an underline or a fence.
_STRUCTURE = re.compile(r"^ {0,3}(?=#|`{3}|~{3}|(?:=+|-+)\s*$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DocEntry:
    """One documented class, function or method. ``name`` is dotted from the module on."""

    name: str
    kind: DefinitionKind
    signature: str
    doc: str
    depth: int

    @property
    def heading(self) -> str:
        """The heading: the call without its stars, which Markdown would remove."""
        return f"class {self.name}" if self.kind == "class" else f"{self.name}{_STARS.sub('', self.signature)}"

    @property
    def usage(self) -> tuple[str, ...]:
        """The exact call as a line of its own, if the heading does not contain it."""
        if not self.signature or (self.kind == "function" and "*" not in self.signature):
            return ()
        return (f"    {self.name.rpartition('.')[2]}{self.signature}",)


@dataclass(frozen=True, slots=True)
class ModuleDocs:
    """A module's documentation: its own docstring and its entries in the order of the source."""

    name: str
    doc: str
    entries: tuple[DocEntry, ...]

    def markdown(self) -> str:
        """The module as a document: ``# module``, ``## class``, ``### method(signature)``."""
        parts = [f"# {self.name}", _escape_structure(self.doc)]
        for entry in self.entries:
            parts += [f"{'#' * entry.depth} {entry.heading}", *entry.usage, _escape_structure(entry.doc)]
        return "\n\n".join(part for part in parts if part) + "\n"


def read_corpus() -> Iterator[ModuleDocs]:
    """The documentation of every public module that has any, by name."""
    sources = _find_sources()
    for name in sorted({*filter(_is_public, sources), *COMPILED}):
        docs = _document_source(name, sources) if name in sources else _document_import(name)
        if docs.doc or docs.entries:
            yield docs


def documents_of(modules: Iterable[ModuleDocs]) -> Iterator[RawDocument]:
    """The modules as documents of ``SOURCE``, each read when it is asked for."""
    for module in modules:
        yield RawDocument(f"{module.name}.md", "markdown", module.name, module.markdown())


@cache
def _find_sources() -> Mapping[str, Path]:
    """Dotted name -> file, for every module of the library with a source file."""
    root = Path(sysconfig.get_path("stdlib"))
    tops = sorted(sys.stdlib_module_names - LEFT_OUT)
    files = [path for name in tops for path in (root / f"{name}.py", *(root / name).rglob("*.py"))]
    named = {path: path.relative_to(root).with_suffix("").parts for path in files if path.is_file()}
    return MappingProxyType(
        {
            ".".join(parts[:-1] if parts[-1] == "__init__" else parts): path
            for path, parts in named.items()
            if not LEFT_OUT_INSIDE & {*parts}
        }
    )


def _is_public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def _escape_structure(doc: str) -> str:
    return _STRUCTURE.sub("    ", doc).strip("\n")


# --- from source ------------------------------------------------------------------------------------------

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _document_source(name: str, sources: Mapping[str, Path]) -> ModuleDocs:
    tree = _parse_file(sources[name])
    definitions: dict[str, Definition] = {}
    for definition in _find_definitions(tree, name, sources):
        definitions.setdefault(definition.name, definition)
    entries = (entry for definition in definitions.values() for entry in _iter_entries(definition, name, depth=2))
    return ModuleDocs(name, ast.get_docstring(tree) or "", tuple(entries))


def _parse_file(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes(), filename=path.name)


def _find_definitions(tree: ast.Module, module: str, sources: Mapping[str, Path]) -> Iterator[Definition]:
    """The definitions of a module, including those imported from private modules."""
    for statement in _iter_top_level(tree.body):
        if isinstance(statement, Definition):
            yield statement
        elif isinstance(statement, ast.ImportFrom):
            yield from _reexported(statement, module, sources)


def _iter_top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run on import, also those under ``if`` and ``try``."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try):
            yield from _iter_top_level(statement.body)
            yield from _iter_top_level(statement.orelse)
        if isinstance(statement, ast.Try):
            for handler in statement.handlers:
                yield from _iter_top_level(handler.body)


def _reexported(statement: ast.ImportFrom, module: str, sources: Mapping[str, Path]) -> Iterator[Definition]:
    origin = _origin_of(statement, module, sources)
    if origin not in sources or _is_public(origin):
        return
    wanted = {alias.name for alias in statement.names}
    for candidate in _iter_top_level(_parse_file(sources[origin]).body):
        if isinstance(candidate, Definition) and (candidate.name in wanted or "*" in wanted):
            yield candidate


def _origin_of(statement: ast.ImportFrom, module: str, sources: Mapping[str, Path]) -> str:
    """The absolute name of the module that is imported from."""
    if not statement.level:
        return statement.module or ""
    is_package = sources[module].name == "__init__.py"
    package = module.split(".")[: (1 if is_package else 0) - statement.level or None]
    return ".".join([*package, *([statement.module] if statement.module else [])])


def _iter_entries(definition: Definition, owner: str, depth: int) -> Iterator[DocEntry]:
    """The entries of a definition and of a class's members, without private and undocumented names."""
    name = f"{owner}.{definition.name}"
    if definition.name.startswith("_"):
        return
    doc = ast.get_docstring(definition) or ""
    if not isinstance(definition, ast.ClassDef):
        if doc:
            yield DocEntry(name, "function", _signature_of(definition, is_method=depth > 2), doc, depth)
        return
    members: dict[str, Definition] = {}
    for member in definition.body:
        if isinstance(member, Definition):
            members.setdefault(member.name, member)
    inner = [entry for member in members.values() for entry in _iter_entries(member, name, min(depth + 1, 6))]
    if doc or inner:
        yield DocEntry(name, "class", _constructor_signature(members.get("__init__")), doc, depth)
    yield from inner


def _constructor_signature(init: Definition | None) -> str:
    return "" if init is None or isinstance(init, ast.ClassDef) else _signature_of(init, is_method=True)


def _signature_of(function: ast.FunctionDef | ast.AsyncFunctionDef, *, is_method: bool) -> str:
    text = ast.unparse(function.args)
    return f"({re.sub(r'^(self|cls)(, (/, )?|$)', '', text) if is_method else text})"


# --- from an import ---------------------------------------------------------------------------------------


def _document_import(name: str) -> ModuleDocs:
    module = importlib.import_module(name)
    return ModuleDocs(name, inspect.getdoc(module) or "", tuple(_inspect_members(module, name, depth=2)))


def _inspect_members(owner: object, owner_name: str, depth: int) -> Iterator[DocEntry]:
    for called, value in vars(owner).items():
        doc = inspect.getdoc(value)
        name = f"{owner_name}.{called}"
        if called.startswith("_") or not doc:
            continue
        if inspect.isclass(value) and value.__name__ == called:  # not `IOError`, another name of `OSError`
            yield DocEntry(name, "class", "", doc, depth)
            yield from _inspect_members(value, name, depth + 1)
        elif inspect.isroutine(value):
            yield DocEntry(name, "function", _text_signature_of(value), doc, depth)


def _text_signature_of(routine: object) -> str:
    signature = getattr(routine, "__text_signature__", None) or "(...)"
    return re.sub(r"\$(self|module|type)(, (/, )?(?=.)|, /)?", "", signature)
