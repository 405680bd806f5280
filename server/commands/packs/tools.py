"""``winnow pack``: list the operator's tools, and check a folder of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.commands.packs.left_out import left_out_lines, left_out_rows
from server.commands.terminal.output import Json, command, print_json, print_lines, report_errors
from server.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.toolpacks.reading import ToolPacks
    from server.toolpacks.records import ToolPack

app = command(
    no_args_is_help=True,
    help="List the tools of your own that agents may call, and check a folder of them.",
    epilog="Examples: winnow pack list | winnow pack check ~/tools | winnow pack check ~/tools --json",
)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="a folder with *.tool.yaml files")]


@app.command(name="list", epilog="Examples: winnow pack list | winnow pack list --json")
def list_packs(as_json: Json = False) -> None:
    """List the tools of the setting tool_packs, and what of its folders is left out."""
    with report_errors(as_json=as_json):
        packs = _load(load_settings().tool_packs)
    _print(packs, as_json=as_json)


@app.command(epilog="Examples: winnow pack check ~/tools | winnow pack check ~/tools --json")
def check(folder: Folder, as_json: Json = False) -> None:
    """Check a folder of tools: exit status 1 where one would not be offered."""
    with report_errors(as_json=as_json):
        packs = _load([folder.absolute()])
    _print(packs, as_json=as_json)
    if packs.left_out:
        raise typer.Exit(1)


def _load(folders: Sequence[Path]) -> ToolPacks:
    from server.toolpacks.reading import load_packs
    from server.tools import TAKEN_NAMES

    return load_packs(folders, TAKEN_NAMES)


def _print(packs: ToolPacks, *, as_json: bool) -> None:
    if as_json:
        print_json({"tools": [_row(pack) for pack in packs.packs], "left_out": left_out_rows(packs.left_out)})
        return
    width = max((len(pack.id) for pack in packs.packs), default=0)
    lines = [f"{pack.id:<{width}}  {pack.version}  {pack.kind:<6}  {pack.description}" for pack in packs.packs]
    print_lines(*(lines or ["no tools of your own"]), *left_out_lines(packs.left_out))


def _row(pack: ToolPack) -> dict[str, Any]:
    return {
        "id": pack.id,
        "version": pack.version,
        "kind": pack.kind,
        "title": pack.title,
        "description": pack.description,
        "file": str(pack.file),
        "read_only": pack.read_only,
        "network": pack.network if pack.network == "any" else list(pack.network),
        "seconds": pack.bounds.seconds,
        "input_schema": dict(pack.takes.document),
        "output_schema": pack.answers.document,
    }
