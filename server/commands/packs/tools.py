"""``winnow pack``: list, check and run the operator's tools, and put one back that broke its contract."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.server.commands.packs.left_out import left_out_lines, left_out_rows
from winnow.server.commands.terminal.output import (
    Json,
    StoreOption,
    command,
    examples,
    print_json,
    print_lines,
    report_errors,
)
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

if TYPE_CHECKING:
    from winnow.server.tools.operator_packs.offering import Offer, ToolRegistry
    from winnow.server.tools.operator_packs.records import ToolPack

app = command(
    no_args_is_help=True,
    help="List the tools of your own that agents may call, check a folder of them, and run one.",
    epilog=examples(
        "winnow pack list",
        "winnow pack check ~/tools",
        'winnow pack run text.count --input \'{"q": "two words"}\' --folder ~/tools',
        "winnow pack mend text.count",
    ),
)

FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="a folder with *.tool.yaml files")]
FolderOption = Annotated[
    Path | None,
    typer.Option("--folder", metavar="FOLDER", help="a folder of tools; default: the setting tool_packs"),
]
Id = Annotated[str, typer.Argument(metavar="ID", help="the id of a tool, as winnow pack list shows it")]
InputOption = Annotated[str, typer.Option("--input", metavar="JSON", help="the arguments, as a JSON object")]

_RUNNER = "command line"


@app.command(name="list", epilog=examples("winnow pack list", "winnow pack list --folder ~/tools --json"))
def list_packs(folder: FolderOption = None, store: StoreOption = None, as_json: Json = False) -> None:
    """List the tools of a folder or of the setting tool_packs, and what of it is not offered, and why."""
    with report_errors(as_json=as_json):
        registry = _open_registry(load_settings(store=store), folder)
    _print(registry, as_json=as_json)


@app.command(epilog=examples("winnow pack check ~/tools", "winnow pack check ~/tools --json"))
def check(folder: FolderArgument, as_json: Json = False) -> None:
    """Check a folder of tools: exit status 1 where one would not be offered."""
    with report_errors(as_json=as_json):
        registry = _open_registry(load_settings(), folder)
    _print(registry, as_json=as_json)
    if registry.left_out:
        raise typer.Exit(1)


@app.command(
    epilog=examples(
        'winnow pack run text.count --input \'{"q": "two words"}\'',
        'winnow pack run text.count --folder ~/tools --input \'{"q": "x"}\' --json',
    )
)
def run(
    id: Id,
    given: InputOption = "{}",
    folder: FolderOption = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Run a tool as a call of an agent would, and print its answer."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store)
        pack = _find(_open_registry(settings, folder), id)
        answer = asyncio.run(_call(settings, pack, _parse(given)))
    if as_json:
        print_json({"tool": pack.id, "version": pack.version, "data": answer})
    else:
        print_lines(*json.dumps(answer, indent=2, ensure_ascii=False).splitlines())


@app.command(epilog=examples("winnow pack mend text.count", "winnow pack mend text.count --json"))
def mend(id: Id, store: StoreOption = None, as_json: Json = False) -> None:
    """Put a tool back on the list that broke its contract for a reason outside its files."""
    from winnow.server.tools.operator_packs.contract_violations import ContractViolations

    with report_errors(as_json=as_json):
        was_counted = ContractViolations(load_settings(store=store).store).clear(id)
    if as_json:
        print_json({"tool": id, "was_counted": was_counted})
    else:
        print_lines(f"{id} is offered again" if was_counted else f"nothing is counted against {id}")


def _open_registry(settings: Settings, folder: Path | None) -> ToolRegistry:
    """The tools of this folder, or of those that the settings name."""
    from winnow.server.tools.operator_packs.contract_violations import ContractViolations
    from winnow.server.tools.operator_packs.offering import ToolRegistry
    from winnow.server.tools.table import TAKEN_NAMES

    folders = [folder.absolute()] if folder else settings.tool_packs
    registry = ToolRegistry(folders, TAKEN_NAMES, ContractViolations(settings.store))
    registry.refresh()
    return registry


def _find(registry: ToolRegistry, id: str) -> ToolPack:
    for offer in registry.offers:
        if offer.pack.id == id:
            if offer.why_not:
                raise WinnowError("INVALID_REQUEST", f"{id} is not offered: {offer.why_not}")
            return offer.pack
    known = ", ".join(offer.pack.id for offer in registry.offers) or "none; set tool_packs, or use --folder"
    raise WinnowError("INVALID_REQUEST", f"no tool {id!r}; there are: {known}")


def _parse(given: str) -> dict[str, Any]:
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise WinnowError("INVALID_REQUEST", '--input takes a JSON object: --input \'{"q": "x"}\'')
    return value


async def _call(settings: Settings, pack: ToolPack, given: dict[str, Any]) -> Any:
    from winnow.server.tools.operator_packs.contract_violations import ContractViolations
    from winnow.server.tools.operator_packs.running import PackRunner

    return (await PackRunner(ContractViolations(settings.store)).call(pack, given, _RUNNER)).data


def _print(registry: ToolRegistry, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {"tools": [_row(each) for each in registry.offers], "left_out": left_out_rows(registry.left_out)}
        )
        return
    width = max((len(each.pack.id) for each in registry.offers if not each.why_not), default=0)
    lines = [_line(each, width) for each in registry.offers if not each.why_not]
    if not lines and not registry.left_out:
        lines = ["no tools of your own: name a folder with *.tool.yaml files by --folder, or in tool_packs"]
    print_lines(*lines, *left_out_lines(registry.left_out))


def _line(offer: Offer, width: int) -> str:
    pack = offer.pack
    breaks = f" (broke its contract {offer.breaks} times)" if offer.breaks else ""
    return f"{pack.id:<{width}}  {pack.version}  {pack.kind:<6}  {pack.purpose}{breaks}"


def _row(offer: Offer) -> dict[str, Any]:
    pack = offer.pack
    return {
        "id": pack.id,
        "version": pack.version,
        "kind": pack.kind,
        "title": pack.title,
        "description": pack.purpose,
        "file": str(pack.file),
        "offered": not offer.why_not,
        "why_not": offer.why_not,
        "breaks": offer.breaks,
        "read_only": pack.read_only,
        "network": pack.network if pack.network == "any" else list(pack.network),
        "seconds": pack.bounds.seconds,
        "input_schema": dict(pack.takes.document),
        "output_schema": pack.answers.document,
    }
