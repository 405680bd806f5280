"""``winnow eval``: quality of rankings and quotes on a collection, and of answers to golden questions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import typer

from winnow.server.commands.terminal.output import (
    FAILED,
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
from winnow.server.text.sizes import count_of

app = command()

_PROJECT = "eval"
_GOLDEN = Path("tests", "golden")
_AT_LEAST = 0.9

EvaluationKind = Literal["ranking", "quotes", "golden"]
# Option -> the measurements that it applies to, and the advice for the others.
_BELONGS: Mapping[str, tuple[tuple[EvaluationKind, ...], str]] = MappingProxyType(
    {
        "--mode": (("ranking",), "is for rankings; leave it out"),
        "--evidence": (("quotes", "golden"), "is for quotes; add --quotes or --golden"),
        "--set": (("golden",), "is for golden questions; add --golden"),
        "--at-least": (("golden",), "is for golden questions; add --golden"),
    }
)

_EPILOG = """
Each of the three indexes into a throw-away store; with --store DIR the index is kept and re-used.

DIR alone: how well documents are ranked. DIR holds corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and
qrels.tsv (query-id, corpus-id, score, with a header).

DIR --quotes: one call of kb.retrieve_evidence for each query of such a collection. How many of the judged
documents are quoted, for how many tokens, against the five best chunks in full?

--golden: do the quotes of one call contain the answer to a golden question? DIR is tests/golden below the
working folder unless given; its golden.toml names the sets. Exit code: 0 when the share that is answered reaches
--at-least, 1 when not.

""" + examples(
    "winnow eval data/scifact",
    "winnow eval data/scifact --mode hybrid --fusion rrf --json",
    "winnow eval data/2wiki --mode graph",
    "winnow eval data/hotpot --quotes",
    "winnow eval --golden",
    "winnow eval --golden --set documentation --evidence dense",
)


@app.command(epilog=_EPILOG)
def evaluate(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="folder of a collection, or of golden questions", show_default=False),
    ] = None,
    quotes: Annotated[bool, typer.Option("--quotes", help="measure what one call quotes")] = False,
    golden: Annotated[bool, typer.Option("--golden", help="ask golden questions")] = False,
    mode: Annotated[
        Literal["hybrid", "lexical", "dense", "graph", "all"] | None,
        typer.Option(
            "--mode",
            help="what is measured: lexical, dense, hybrid (both legs joined), graph (hybrid, hybrid_local and "
            "multi_hop) or all (default), which also joins the legs by ranks",
            show_default=False,
        ),
    ] = None,
    fusion: Annotated[
        Literal["convex", "rrf"] | None,
        typer.Option("--fusion", help="how the legs are joined (default: the setting)", show_default=False),
    ] = None,
    evidence: Annotated[
        Literal["lexical", "dense"] | None,
        typer.Option("--evidence", help="how quotes are scored (default: the setting)", show_default=False),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--set", metavar="NAME", help="only this set of golden questions", show_default=False),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(
            "--at-least",
            min=0,
            max=1,
            help="share of golden questions to answer (default: 0.9)",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Measure how well a collection is ranked or quoted, or how many golden questions are answered."""
    given = {"--mode": mode, "--evidence": evidence, "--set": only, "--at-least": at_least}
    with report_errors(as_json=as_json):
        kind = _choose_kind(golden=golden, quotes=quotes, given=given)
        with _eval_settings(store, fusion=fusion, evidence=evidence) as settings:
            figures = _measure(kind, folder, settings, mode or "all", only)
    if as_json:
        print_json(figures)
    else:
        print_lines(*_FORMATS[kind](figures))
    if kind == "golden" and figures["all"]["answered"] < (_AT_LEAST if at_least is None else at_least):
        raise typer.Exit(FAILED)


def _choose_kind(*, golden: bool, quotes: bool, given: Mapping[str, Any]) -> EvaluationKind:
    if golden and quotes:
        raise WinnowError(
            "INVALID_REQUEST", "--quotes is for collections, --golden for questions; give one of them"
        )
    kind: EvaluationKind = "golden" if golden else "quotes" if quotes else "ranking"
    for option, (kinds, advice) in _BELONGS.items():
        if given[option] is not None and kind not in kinds:
            raise WinnowError("INVALID_REQUEST", f"{option} {advice}")
    return kind


@contextmanager
def _eval_settings(store: str | None, **chosen: str | None) -> Iterator[Settings]:
    """Settings for the given store or a temporary one, without the operator's limits of scope."""
    with tempfile.TemporaryDirectory(prefix="winnow-eval-") as scratch:
        unconfined = {"projects": (), "doc_tags": (), "environment": "", "repositories": ()}
        yield load_settings(store=store or scratch, project=_PROJECT, **unconfined, **chosen)


def _measure(
    kind: EvaluationKind, folder: Path | None, settings: Settings, mode: str, only: str | None
) -> dict[str, Any]:
    from winnow.server.commands.eval import measurements  # imports vector stores and model runtimes

    if kind == "golden":
        return measurements.measure_golden(folder or _GOLDEN, settings, only)
    if folder is None:
        raise WinnowError("INVALID_REQUEST", "give the folder of a collection, or --golden; see --help")
    return (
        measurements.measure_quotes(folder, settings)
        if kind == "quotes"
        else measurements.measure_ranking(folder, settings, mode)
    )


# --- text output -------------------------------------------------------------------------------------------


def _format_ranking(figures: dict[str, Any]) -> Iterator[str]:
    names = list(next(iter(figures["legs"].values())))
    yield from (_format_collection(figures), "")
    yield f"{'':<14}{''.join(f'{name:>12}' for name in names)}"
    for leg, row in figures["legs"].items():
        yield f"{leg:<14}{''.join(f'{row[name]:>12.4f}' for name in names)}"
    latency = figures["latency_ms"]
    yield f"\na query takes {latency['p50']} ms (p50), {latency['p95']} ms (p95)"


def _format_quotes(figures: dict[str, Any]) -> Iterator[str]:
    yield from (f"{_format_collection(figures)}, quotes scored {figures['evidence']}", "")
    yield f"{'':<14}{'recall':>10}{'all gold':>10}{'tokens p50':>12}{'p95':>8}"
    for name, label in (("quotes", "quotes"), ("full_chunks", "5 full chunks")):
        row, tokens = figures[name], figures[name]["tokens"]
        numbers = f"{row['recall']:>10.4f}{row['all_gold']:>10.4f}"
        yield f"{label:<14}{numbers}{tokens['p50']:>12,}{tokens['p95']:>8,}"


def _format_collection(figures: dict[str, Any]) -> str:
    return (
        f"{figures['collection']}: {count_of(figures['documents'], 'document')}, "
        f"{count_of(figures['chunks'], 'chunk')}, "
        f"{figures['queries']:,} queries"
    )


def _format_golden(figures: dict[str, Any]) -> Iterator[str]:
    shares, tokens = f"{'answered':>10}{'document':>10}{'on top':>8}", f"{'tokens p50':>12}{'p95':>8}{'max':>8}"
    yield f"{'':<16}{'questions':>10}{shares}{tokens}"
    for name, row in {**figures["sets"], "all": figures["all"]}.items():
        shares = f"{row['answered']:>10.4f}{row['with_document']:>10.4f}{row['top_document']:>8.4f}"
        tokens = f"{row['tokens']['p50']:>12,}{row['tokens']['p95']:>8,}{row['tokens']['max']:>8,}"
        yield f"{name:<16}{row['questions']:>10}{shares}{tokens}"
    for name, row in figures["sets"].items():
        yield from ("", f"{name}, not answered by the quotes of one call:") if row["failed"] else ()
        for failed in row["failed"]:
            then = "a second call shows it" if failed["calls"] else "nor does a second call show it"
            yield f"  {failed['id']}: {_MISSING[failed['lacked']]}; {then}"


_MISSING = {
    "document": "the document was not among the passages",
    "chunk": "the document was, the passage was not",
    "quote": "the passage was, the words were not quoted",
}
_FORMATS: Mapping[EvaluationKind, Callable[[dict[str, Any]], Iterator[str]]] = MappingProxyType(
    {"ranking": _format_ranking, "quotes": _format_quotes, "golden": _format_golden}
)
