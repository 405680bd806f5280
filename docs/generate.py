"""Writes docs/tools.md from the tools themselves and docs/sdk.md from the SDK's docstrings.

    python docs/generate.py            write both
    python docs/generate.py --check    exit 1 where one is stale

What agents and clients are told lives in the code; these pages are the same words, for people.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import client_sdk
from sandbox import menu
from server.contracts import flat_schema
from server.scripts import ALLOWANCES, Allowance
from server.tools import TOOLS, Tool

FOLDER = Path(__file__).parent
GENERATED = "<!-- Written by docs/generate.py from the code. Change it there. -->"

# Pairs of keywords that bound a value, and what they count.
_BOUNDS = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
)


def tools_page() -> str:
    """Every tool with its description, arguments and answer."""
    opening = [
        "# Tools",
        GENERATED,
        "What an MCP client sees. The names are as they are listed; `.` also works for `_`.",
    ]
    return _page([*opening, *(part for tool in TOOLS for part in _tool(tool))])


def _tool(tool: Tool) -> Iterator[str]:
    hints = {"read-only": tool.read_only, "idempotent": tool.idempotent, "destructive": tool.destructive}
    yield f"## {tool.name.replace('.', '_')}"
    yield f"{tool.title}. Annotated: {', '.join(name for name, holds in hints.items() if holds)}."
    yield "\n".join(f"> {line}".rstrip() for line in tool.description.splitlines())
    yield "### Arguments"
    yield _table(("argument", "type", "default", "bounds", "what it is"), _arguments(flat_schema(tool.arguments)))
    yield "### Answer"
    yield _table(
        ("field", "type", "bounds"), ((n, t, b) for n, t, _, b, _ in _arguments(flat_schema(tool.answer)))
    )


Row = tuple[str, ...]


def _arguments(schema: Mapping[str, Any], prefix: str = "") -> Iterator[Row]:
    required = schema.get("required", ())
    for name, value in schema.get("properties", {}).items():
        default = "required" if name in required else _default(value)
        yield f"`{prefix}{name}`", _type(value), default, _bounds(value), value.get("description", "")
        inner, mark = (value["items"], "[]") if value.get("type") == "array" else (value, "")
        yield from _arguments(inner, prefix=f"{prefix}{name}{mark}.")


def _type(value: Mapping[str, Any]) -> str:
    if "enum" in value:
        return " or ".join(f"`{option}`" for option in value["enum"])
    if value.get("type") == "array":
        return f"list of {_type(value['items'])}"
    return str(value.get("type", "any"))


def _default(value: Mapping[str, Any]) -> str:
    default = value.get("default")
    return "" if default in (None, [], "") else f"`{default}`"


def _bounds(value: Mapping[str, Any]) -> str:
    found = []
    for low, high, unit in _BOUNDS:
        if low in value and high in value:
            found.append(f"{value[low]:,} to {value[high]:,}{unit}")
        elif low in value or high in value:
            found.append(f"{'at least' if low in value else 'at most'} {value.get(low, value.get(high)):,}{unit}")
    if "pattern" in value:
        found.append(f"matches `{value['pattern']}`")
    return ", ".join(found)


def _table(head: Row, rows: Iterator[Row]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, cells))} |" for cells in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# --- the SDK ------------------------------------------------------------------------------------------------

# What a script has at hand, by the name it writes, in the order it is explained.
SDK: Mapping[str, object] = {
    "semantic_search": client_sdk.semantic_search,
    "search_many": client_sdk.search_many,
    "kb.search": client_sdk.KnowledgeBase.search,
    "fetch": client_sdk.fetch,
    "Results": client_sdk.Results,
    "Row": client_sdk.Row,
    "MCPClient": client_sdk.MCPClient,
    "SDKError": client_sdk.SDKError,
}


def sdk_page() -> str:
    """What a script may call, what it gets, and what one run may use."""
    opening = ["# The script SDK", GENERATED, _markdown(client_sdk.__doc__)]
    functions = [part for name, value in SDK.items() for part in _documented(name, value)]
    return _page([*opening, *functions, *_bounds_of_a_run(), *_modules()])


def _bounds_of_a_run() -> Iterator[str]:
    yield "## What one run may use"
    yield (
        "`timeout` and the settings change the first three within their ceilings; the setting `limits` chooses "
        "between these columns."
    )
    columns = [_allowed(allowed) for allowed in ALLOWANCES.values()]
    rows = ((name.replace("_", " "), *(f"{column[name]:,}" for column in columns)) for name in columns[0])
    yield _table(("at most", *ALLOWANCES), rows)


def _allowed(allowed: Allowance) -> dict[str, float]:
    return {**dataclasses.asdict(allowed.limits), **allowed.rows}


def _modules() -> Iterator[str]:
    yield "## What a script may import"
    yield "These names of these modules, and nothing else of them."
    ours = ("winnow", "client_sdk")
    # The tables themselves, not what this Python makes of them: the page is the same wherever it is written.
    rows = ((f"`{name}`", _names(name, offered)) for name, offered in menu.TABLE.items() if name not in ours)
    yield _table(("module", "names"), rows)


def _names(module: str, offered: str) -> str:
    since = {name: menu.SINCE.get(f"{module}.{name}") for name in sorted(offered.split())}
    always = f"`{' '.join(name for name, version in since.items() if version is None)}`"
    return ", ".join([always, *(f"`{name}` from {v[0]}.{v[1]}" for name, v in since.items() if v is not None)])


def _documented(name: str, value: object) -> Iterator[str]:
    yield f"## {name}"
    if inspect.isfunction(value):
        yield f"`{name}{_signature(value)}`"
    yield _markdown(value.__doc__)


def _signature(function: Callable[..., object]) -> str:
    signature = inspect.signature(function)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _markdown(docstring: str | None) -> str:
    """A docstring with its indented examples as Python blocks, which the tests run."""
    parts = re.split(r"\n\n(?! )", _dedented(docstring or "").replace("``", "`"))
    return "\n\n".join(_with_example(part) for part in parts)


def _dedented(docstring: str) -> str:
    """Without the indentation of the closing quotes (``inspect.cleandoc`` would take an example's with it)."""
    margin = len(docstring.rpartition("\n")[2]) if docstring.endswith(" ") else 0
    return "\n".join(line.removeprefix(" " * margin) for line in docstring.splitlines()).strip()


def _with_example(part: str) -> str:
    text, gap, example = part.partition("\n\n    ")
    return f"{text}\n\n```python\n{textwrap.dedent('    ' + example)}\n```" if gap else text


def _page(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


PAGES: Mapping[str, Callable[[], str]] = {"tools.md": tools_page, "sdk.md": sdk_page}


def stale() -> list[str]:
    """The pages that differ from what the code says."""
    return [name for name, page in PAGES.items() if not _same(FOLDER / name, page())]


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text("utf-8") == text


def main() -> int:
    """Write the pages, or with ``--check`` only compare."""
    names = stale()
    for name in names:
        if "--check" not in sys.argv[1:]:
            (FOLDER / name).write_text(PAGES[name](), "utf-8")
        sys.stdout.write(f"{name}\n")
    return 1 if names and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    raise SystemExit(main())
