"""``winnow search``: search from the shell, with the results that an agent gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from winnow.server.commands.terminal.operation import run_operation
from winnow.server.commands.terminal.output import (
    EmbedderOption,
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    report_errors,
)
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.text.sizes import count_of

app = command()


@app.command(
    epilog=examples(
        'winnow search "backup policy"',
        'winnow search "retry limits" --top-k 3 --mode full --json',
        'winnow search "backup policy" --explain',
    ),
)
def search(
    query: Annotated[str, typer.Argument(help="what to look for")],
    top_k: Annotated[int, typer.Option("--top-k", help="how many results")] = 10,
    mode: Annotated[str, typer.Option("--mode", help="ids_only, metadata, preview or full")] = "preview",
    min_score: Annotated[float, typer.Option("--min-score", help="drop results below this score, 0 to 1")] = 0.0,
    vendor: Annotated[str | None, typer.Option("--vendor", help="only this vendor", show_default=False)] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="how long each stage took, and what each result's score is made of")
    ] = False,
    store: StoreOption = None,
    project: ProjectOption = None,
    embedder: EmbedderOption = None,
    as_json: Json = False,
) -> None:
    """Search the index with the same operation that agents call."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project, embedder=embedder)
        if explain:
            _check_explain_options(vendor, min_score)
            run_operation(
                settings,
                "kb.search",
                _explain_arguments(query, top_k),
                _format_explanation,
                as_json=as_json,
                linked=("results", "section_id"),
            )
            return
        arguments = {
            "query": query,
            "top_k": top_k,
            "response_mode": mode,
            "min_score": min_score,
            "vendor_filter": vendor,
        }
        from winnow.server.operations.search import render_results

        linked = ("results", "id")
        run_operation(settings, "semantic_search", arguments, render_results, as_json=as_json, linked=linked)


def _explain_arguments(query: str, top_k: int) -> dict[str, Any]:
    """The arguments of an explained search: it may return every result of one document."""
    options = {"include_scores": True, "include_debug": True, "max_per_doc": top_k}
    return {"query": query, "top_k": top_k, "page_size": top_k, "options": options}


def _check_explain_options(vendor: str | None, min_score: float) -> None:
    if vendor or min_score:
        instead = f"say vendor:{vendor} in the query" if vendor else "every score is shown"
        raise WinnowError("INVALID_REQUEST", f"--explain goes without --vendor and --min-score; {instead}")


def _format_explanation(payload: dict[str, Any]) -> list[str]:
    debug = payload["debug"]
    return [
        f"{count_of(len(payload['results']), 'result')} ({debug['search_mode']}, {debug['fusion']}), "
        f"{_format_relevance(debug['relevance'])}",
        "",
        *_format_stages(debug["stages_ms"]),
        "",
        *(line for row in payload["results"] for line in _format_row(row)),
    ]


def _format_relevance(relevance: float | None) -> str:
    return "relevance unknown" if relevance is None else f"relevant with a probability of {relevance:.3f}"


def _format_stages(stages: dict[str, float]) -> Iterator[str]:
    yield f"{'stage':<10}{'ms':>10}"
    for name, milliseconds in stages.items():
        yield f"{name:<10}{milliseconds:>10.3f}"
    yield f"{'all':<10}{sum(stages.values()):>10.3f}"


def _format_row(row: dict[str, Any]) -> Iterator[str]:
    scores = ", ".join(f"{name} {score:.4f}" for name, score in row["scores"].items())
    place = f", {row['locator']}" if "locator" in row else ""
    yield f"{row['rank']}. [{row['section_id']}] {row['title']} | {row['debug']['file']}{place}"
    yield f"   {scores}"
    if "url" in row:
        yield f"   {row['url']}"
