"""``winnow search``: what an agent would get, on the shell."""

from __future__ import annotations

from typing import Annotated

import typer

from server.commands.asking import asked
from server.commands.output import Embedder, Json, Project, Store, command, errors_shown
from server.settings import load_settings

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
    embedder: Embedder = None,
    as_json: Json = False,
) -> None:
    """Search the index with the same operation that agents call."""
    with errors_shown(as_json=as_json):
        settings = load_settings(store=store, project=project, embedder=embedder)
        arguments = {
            "query": query,
            "top_k": top_k,
            "response_mode": mode,
            "min_score": min_score,
            "vendor_filter": vendor,
        }
        from server.tools.semantic_search import lines

        asked(settings, "semantic_search", arguments, lines, as_json=as_json)
