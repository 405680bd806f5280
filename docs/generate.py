"""Writes the pages that repeat what the code says: the tools, the SDK's docstrings, the playbook.

    python docs/generate.py            write them
    python docs/generate.py --check    exit 1 where one is stale

What agents and clients are told lives in the code; these pages are the same words, for people.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from server.contracts import flat_schema
from server.reference.guides import PROMPTS, playbook
from server.reference.schemas import answer_table, arguments_table, table
from server.reference.sdk import sdk_reference
from server.tools import TOOLS, Tool
from server.transports.resources import PAGES as PAGES_BY_URI
from server.transports.resources import TEMPLATES

FOLDER = Path(__file__).parent
GENERATED = "<!-- Written by docs/generate.py from the code. Change it there. -->"


def tools_page() -> str:
    """Every tool with its description, arguments and answer; then resources and prompts."""
    opening = [
        "# Tools",
        GENERATED,
        "What an MCP client sees. The names are as they are listed; `.` also works for `_`.",
    ]
    return _page([*opening, *(part for tool in TOOLS for part in _tool(tool)), *_resources(), *_prompts()])


def _tool(tool: Tool) -> Iterator[str]:
    hints = {"read-only": tool.read_only, "idempotent": tool.idempotent, "destructive": tool.destructive}
    yield f"## {tool.name.replace('.', '_')}"
    yield f"{tool.title}. Annotated: {', '.join(name for name, holds in hints.items() if holds)}."
    yield "\n".join(f"> {line}".rstrip() for line in tool.description.splitlines())
    yield "### Arguments"
    yield arguments_table(flat_schema(tool.arguments))
    yield "### Answer"
    yield answer_table(flat_schema(tool.answer))


def _resources() -> Iterator[str]:
    yield "## Resources"
    yield (
        "Only the help pages are listed. A passage is read by the `scratch_uri` of a search result, a large "
        "result by the `result_uri` of its error."
    )
    rows = [(f"`{uri}`", page.description) for uri, page in PAGES_BY_URI.items()]
    patterns = [(f"`{one.uri_template}`", one.description or "") for one in TEMPLATES]
    yield table(("URI", "what it is"), [*rows, *patterns])


def _prompts() -> Iterator[str]:
    yield "## Prompts"
    rows = ((f"`{p.name}`", f"`{p.argument}`: {p.asks}", p.description) for p in PROMPTS.values())
    yield table(("name", "argument", "what it does"), rows)


def sdk_page() -> str:
    """What a script may call, what it gets, and what one run may use."""
    return _page(["# The script SDK", GENERATED, sdk_reference()])


def playbook_page() -> str:
    """How an agent is taught to use the tools, whole."""
    title, _, text = playbook().partition("\n\n")
    return _page([title, GENERATED, text])


def _page(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "tools.md": tools_page,
    "sdk.md": sdk_page,
    "playbook.md": playbook_page,
}


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
