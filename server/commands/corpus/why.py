"""``winnow why``: how the results of a search got their ranks, and why a document did not come."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from winnow.server.commands.corpus.open_page import read_citation
from winnow.server.commands.terminal.operation import knowledge_of, print_answer
from winnow.server.commands.terminal.output import (
    EmbedderOption,
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    print_json,
    print_to_stderr,
    report_errors,
)
from winnow.server.contracts.kb import ExplainedTool, SearchMode
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

app = command()


@app.command(
    epilog=examples(
        'winnow why "backup policy"',
        'winnow why "backup policy" --document guide/backups.md',
        'winnow why "backup policy" --document "[@ohm1827]" --json',
        'winnow why "who backs up the gateway" --tool kb_search --mode multi_hop',
    ),
)
def why(
    query: Annotated[str, typer.Argument(help="what was looked for")],
    document: Annotated[
        str | None,
        typer.Option(
            "--document",
            metavar="FILE",
            help="why this document came or did not: a path, a title, an id or a citation",
            show_default=False,
        ),
    ] = None,
    tool: Annotated[
        ExplainedTool, typer.Option("--tool", help="the tool whose ranking is explained: that of winnow search")
    ] = "semantic_search",
    top_k: Annotated[
        int | None, typer.Option("--top-k", help="how many results (default: the tool's)", show_default=False)
    ] = None,
    min_score: Annotated[
        float, typer.Option("--min-score", help="of semantic_search: drop results below this score, 0 to 1")
    ] = 0.0,
    vendor: Annotated[
        str | None, typer.Option("--vendor", help="of semantic_search: only this vendor", show_default=False)
    ] = None,
    per_document: Annotated[
        int | None,
        typer.Option("--per-document", help="of kb_search: results of one document at most", show_default=False),
    ] = None,
    mode: Annotated[
        SearchMode | None,
        typer.Option("--mode", help="of kb_search and kb_retrieve_evidence: the graph", show_default=False),
    ] = None,
    rows: Annotated[int, typer.Option("--rows", help="how many results are printed", min=0)] = 5,
    store: StoreOption = None,
    project: ProjectOption = None,
    embedder: EmbedderOption = None,
    as_json: Json = False,
) -> None:
    """Explain a ranking: ranks and scores of each leg, all steps after them, and why a document did not come."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project, embedder=embedder)
        arguments = {
            "query": query,
            "tool": tool,
            "top_k": top_k,
            "min_score": min_score,
            "vendor_filter": vendor,
            "max_per_doc": per_document,
            "mode": mode,
        }
        payload, warnings = asyncio.run(_explain(settings, arguments, document))
        if as_json:
            print_json({**payload, "warnings": list(warnings)})
            return
        from winnow.server.operations.explaining.rendering import render_explanation

        print_answer(render_explanation(payload, rows), payload)
        print_to_stderr(*(f"warning: {warning}" for warning in warnings))


async def _explain(
    settings: Settings, arguments: dict[str, Any], document: str | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    async with knowledge_of(settings) as kb:
        warnings: tuple[str, ...] = ()
        if document is not None:
            named = await read_citation(kb, document)
            arguments = {**arguments, "document": named.get("passage_id") or named.get("document")}
            if named.get("page"):
                warnings = ("--document: its page is left out, all passages of the document are looked at",)
        answer = await kb.call("kb.explain_ranking", arguments, kb.caller("shell"))
        payload = answer.payload
        found = payload["document"]
        if found and found["outcome"] == "not_indexed":
            payload = {**payload, "document": {**found, **_advise_ingest(settings, document or "")}}
        return payload, (*warnings, *answer.warnings)


def _advise_ingest(settings: Settings, name: str) -> dict[str, str]:
    """The next step for a file of this machine that no project has; none for anything else."""
    path = Path(name)
    if not path.is_file():
        return {}
    command = f"winnow ingest {shlex.quote(name)} --project {shlex.quote(settings.project)}"
    return {"next": f"the file is on this machine: {command}; winnow ingest --explain FILE says how it is read"}
