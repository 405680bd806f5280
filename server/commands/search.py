"""``winnow search``: what an agent would get, on the shell."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated, Any

import typer

from server.commands.output import Json, Project, Store, command, errors_shown, print_json
from server.settings import Settings, load_settings

app = command()


@app.command(
    epilog='Examples: winnow search "backup policy" | winnow search "retry limits" --top-k 3 --mode full --json',
)
def search(
    query: Annotated[str, typer.Argument(help="what to look for")],
    top_k: Annotated[int, typer.Option("--top-k", help="how many results")] = 10,
    mode: Annotated[str, typer.Option("--mode", help="ids_only, metadata, preview or full")] = "preview",
    min_score: Annotated[float, typer.Option("--min-score", help="drop results below this score, 0 to 1")] = 0.0,
    vendor: Annotated[str | None, typer.Option("--vendor", help="only this vendor", show_default=False)] = None,
    store: Store = None,
    project: Project = None,
    as_json: Json = False,
) -> None:
    """Search the index with the same operation that agents call."""
    with errors_shown(as_json=as_json):
        settings = load_settings(store=store, project=project)
        arguments = {
            "query": query,
            "top_k": top_k,
            "response_mode": mode,
            "min_score": min_score,
            "vendor_filter": vendor,
        }
        payload, warnings = asyncio.run(_search(settings, arguments))
        _show(payload, warnings, as_json=as_json)


async def _search(settings: Settings, arguments: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    from server.app import knowledge_base

    kb = knowledge_base(settings, wait_for_model=True)
    try:
        answer = await kb.call("semantic_search", arguments, kb.caller("shell"))
        return answer.payload, answer.warnings
    finally:
        kb.close()


def _show(payload: dict[str, Any], warnings: tuple[str, ...], *, as_json: bool) -> None:
    if as_json:
        print_json({**payload, "warnings": list(warnings)})
        return
    from server.tools.semantic_search import render

    sys.stdout.write(render(payload) + "\n")
    sys.stderr.writelines(f"warning: {warning}\n" for warning in warnings)
