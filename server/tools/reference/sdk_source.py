"""The source of the SDK functions that call operations, written from the declarations of the operations."""

from __future__ import annotations

import inspect
import re
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from winnow.client_sdk.client import DocumentFunctions, list_methods
from winnow.server.operations.declaration import Operation, Script
from winnow.server.operations.table import OPERATIONS

_LINE = 115
_MARK = "Written by docs/generate.py from the operations that these functions call. Change it there."
# Module -> its subject, and the object whose methods its functions are, "" for functions by themselves.
MODULES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "search_calls": ("Search, passages by their ids, and vendors", ""),
        "corpus_calls": (
            "Calls over all documents in scope: never a ranking, and they say whether they were complete",
            "",
        ),
        "kb_calls": ("The functions of ``kb``: search, quotes and excerpts", "kb"),
        "graph_calls": ("The functions of ``graph``", "graph"),
        "claim_calls": (
            "The functions of ``claims``: what agents wrote down in a notebook, for reading",
            "claims",
        ),
    }
)
# Parameter -> its type, where rows stand for ids or mappings for models.
_TYPES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("ids", "from_ids", "to_ids", "section_ids", "entity_ids"), "Any"),
        **dict.fromkeys(("passage_id", "passage_ids", "entry_id", "entry_ids", "document"), "Any"),
        **dict.fromkeys(("filter_ids", "types", "entity_types"), "Iterable[str] | None"),
        "filters": "Filters | None",
        "scope": "Scope | None",
        "where": "Mapping[str, Any] | None",
        "missing": "str",
    }
)
_DEFAULTS: Mapping[str, Any] = MappingProxyType({"missing": "raise"})
_FROM_COLLECTIONS = ("Callable", "Iterable", "Mapping", "Sequence")
_FROM_REQUESTS = ("Filters", "Scope", "request_page", "request_row")
_FROM_ROWS = ("Results", "Row")


def build_module(name: str) -> str:
    """The source of a module of ``client_sdk``."""
    subject, owner = MODULES[name]
    declared = [*_scripts_of(name)]
    functions = [_build_function(operation, script) for operation, script in declared]
    names = [_last(script.name or operation.name) for operation, script in declared]
    body = "\n\n\n".join([*functions, _build_tables(names, owner, _class_name(name))])
    offered = "" if owner else f"{_build_all(names)}\n\n"
    return f'"""{subject}.\n\n{_MARK}\n"""\n\n{_build_imports(body)}\n\n{offered}\n{body}\n'


def _scripts_of(module: str) -> Iterator[tuple[Operation, Script]]:
    for operation in OPERATIONS.values():
        if operation.script is not None and _module_of(operation, operation.script) == module:
            yield operation, operation.script


def _module_of(operation: Operation, script: Script) -> str:
    owner = (script.name or operation.name).partition(".")[0]
    by_owner = {owned: module for module, (_, owned) in MODULES.items() if owned}
    if not script.name and owner in by_owner:
        return by_owner[owner]
    return "corpus_calls" if script.name else "search_calls"


def _build_imports(body: str) -> str:
    def used(names: tuple[str, ...]) -> str:
        return ", ".join(name for name in names if re.search(rf"\b{name}\b", body))

    standard = ["import re"] if "re.Pattern" in body else []
    standard += [f"from collections.abc import {used(_FROM_COLLECTIONS)}", "from types import MappingProxyType"]
    return "\n".join(
        [
            "from __future__ import annotations\n",
            *standard,
            "from typing import Any\n",
            f"from .requests import {used(_FROM_REQUESTS)}",
            f"from .rows import {used(_FROM_ROWS)}",
        ]
    )


def _build_function(operation: Operation, script: Script) -> str:
    name, returned = _last(script.name or operation.name), "Row" if script.is_row else "Results"
    parameters = [_build_parameter(each, operation, script) for each in script.parameters.split()]
    head = f"def {name}({', '.join(parameters)}) -> {returned}:"
    if len(head) > _LINE:
        within = f"    {', '.join(parameters)}"
        lines = "".join(f"    {each},\n" for each in parameters) if len(within) > _LINE else f"{within}\n"
        head = f"def {name}(\n{lines}) -> {returned}:"
    prefix = "r" if "\\" in script.doc else ""
    doc = textwrap.indent(inspect.cleandoc(script.doc), "    ").lstrip()
    ending = "" if "\n" not in doc else "\n    "
    request = "request_row" if script.is_row else "request_page"
    return f'{head}\n    {prefix}"""{doc}{ending}"""\n    return {request}("{operation.name}", locals())'


def _class_name(module: str) -> str:
    return f"{module.removesuffix('_calls').capitalize()}Functions"


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _build_parameter(name: str, operation: Operation, script: Script) -> str:
    if name == "*":
        return name
    described = operation.arguments.model_fields.get(name)
    default = _default_of(name, described, script)
    written = "" if default is inspect.Parameter.empty else f" = {_write(default)}"
    return f"{name}: {script.types.get(name) or _TYPES.get(name) or _type_of(described)}{written}"


def _write(default: Any) -> str:
    if isinstance(default, str):
        return f'"{default}"'
    return f"{default:_}" if type(default) is int else repr(default)


def _default_of(name: str, described: FieldInfo | None, script: Script) -> Any:
    """The default of a parameter; None stands for an empty list or object."""
    for defaults in (script.defaults, _DEFAULTS):
        if name in defaults:
            return defaults[name]
    assert described is not None, name
    if described.is_required():
        return inspect.Parameter.empty
    default = described.get_default(call_default_factory=True)
    return None if default in ([], {}) or isinstance(default, BaseModel) else default


def _type_of(described: FieldInfo | None) -> str:
    assert described is not None
    return _write_type(described.annotation)


def _write_type(annotation: Any) -> str:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _write_type(typing.get_args(annotation)[0])
    if origin is Literal:
        return type(typing.get_args(annotation)[0]).__name__
    if origin in (typing.Union, types.UnionType):
        parts = dict.fromkeys(map(_write_type, typing.get_args(annotation)))
        return " | ".join([*(part for part in parts if part != "None"), *(["None"] if "None" in parts else [])])
    return "None" if annotation is type(None) else annotation.__name__


def _build_all(names: list[str]) -> str:
    """The names that ``client_sdk`` offers of a module: its functions, where they belong to no object."""
    written = ", ".join(f'"{name}"' for name in sorted(names))
    line = f"__all__ = [{written}]"
    rows = "".join(f'    "{name}",\n' for name in sorted(names))
    return line if len(line) <= _LINE else f"__all__ = [\n{rows}]"


def _build_tables(names: list[str], owner: str, kind: str) -> str:
    """The functions by name, and as methods."""
    rows = "".join(f'        "{name}": {name},\n' for name in names)
    methods = "".join(f"    {name} = staticmethod({name})\n" for name in names)
    table = f"FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(\n    {{\n{rows}    }}\n)"
    naming = (
        "\nfor _name, _function in FUNCTIONS.items():\n"
        f'    _function.__qualname__ = f"{owner}.{{_name}}"  # the name in Python\'s own messages'
    )
    declared = f'class {kind}:\n    """These functions as methods."""\n\n    __slots__ = ()\n\n{methods}'
    return f"{table}{naming if owner else ''}\n\n\n{declared.rstrip()}"


# The classes of the smaller language whose methods are functions of the SDK, by the module of those. A function
# that belongs to no object is an instance of a class of its own: `count_words` of `CountWords`.
_MONTY_CLASSES: Mapping[str, str] = MappingProxyType(
    {"kb_calls": "KnowledgeBase", "graph_calls": "KnowledgeGraph", "claim_calls": "ClaimNotebook"}
)
# Functions that are attributes of ``kb``, too, besides those of ``corpus_calls``: there is no inheritance.
_OF_KB = ("semantic_search", "search_many", "grep", "fetch", *list_methods(DocumentFunctions))
_MONTY_MARK = """\
\"\"\"The functions of the SDK that call operations, in the smaller language (see ``monty_calls``).

Written by docs/generate.py from the operations that they call. Change it there.
\"\"\"
"""


def build_monty_module() -> str:
    """The source of the module of ``sandbox`` with these functions in the language of Monty."""
    parts = [part for module in MODULES for part in _build_monty_classes(module)]
    body = "\n\n".join(parts)
    return f'{_MONTY_MARK}\nfrom __future__ import annotations\n\nFUNCTIONS = """\n{body}\n"""\n'


def _build_monty_classes(module: str) -> Iterator[str]:
    """The classes of a module, each with the object that scripts have."""
    declared = [*_scripts_of(module)]
    if module not in _MONTY_CLASSES:
        for operation, script in declared:
            name = _last(script.name or operation.name)
            kind = "".join(word.capitalize() for word in name.split("_"))
            yield f"class {kind}:\n{_build_monty_method('__call__', operation, script)}\n\n{name} = {kind}()"
        return
    kind, name = _MONTY_CLASSES[module], MODULES[module][1]
    methods = [_build_monty_method(_last(each.name), each, script) for each, script in declared]
    start = _build_shared() if name == "kb" else ""
    yield f"class {kind}:\n{start}" + "\n".join(methods) + f"\n\n{name} = {kind}()"


def _build_shared() -> str:
    of_corpus = [_last(script.name) for _, script in _scripts_of("corpus_calls")]
    return "    def __init__(self):\n" + "".join(
        f"        self.{name} = {name}\n" for name in (*_OF_KB, *of_corpus)
    )


def _build_monty_method(name: str, operation: Operation, script: Script) -> str:
    names = script.parameters.split()
    untyped = [re.sub(r": [^=]*(?: = |$)", "=", _build_parameter(each, operation, script)) for each in names]
    head = f"    def {name}({', '.join(['self', *(each.rstrip('=') for each in untyped)])}):"
    request = "_request_row" if script.is_row else "_request_page"
    given = ", ".join(f'"{each}": {each}' for each in names if each != "*")
    call = f'        return {request}("{operation.name}", {{{given}}})'
    return f"{_wrap(head, 12)}\n{_wrap(call, 12)}"


def _wrap(line: str, indent: int) -> str:
    """The line, broken after commas where it is too long."""
    return "\n".join(textwrap.wrap(line, _LINE, subsequent_indent=" " * indent, break_on_hyphens=False))
