"""The embedding model as the rest of the server meets it: loading in the background, ready, missing or off.

A missing model is no error. Search and ingest then work on words alone and say so, and nothing here ever
downloads one: the weights come from the installed carrier package or from an earlier `winnow model install`.
"""

from __future__ import annotations

import threading
from pathlib import Path

from server.backends import weights
from server.backends.base import Embedder, ModelState
from server.errors import WinnowError
from server.settings import Settings

_OFF = "the embedding model is switched off (embedding = off)"
_LOADING = "the embedding model is still loading"
_MISSING = "no embedding model is installed; run: winnow model install"


class LazyEmbedder:
    """A model that loads in a background thread once somebody asks. See ``base.EmbedderSource``."""

    def __init__(self, settings: Settings) -> None:
        self._models = settings.models
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._done = threading.Event()
        self._model: Embedder | None = None
        self._state: ModelState = "loading"
        self._why = _LOADING
        if settings.embedding == "off":
            self._settle("off", _OFF)

    @property
    def state(self) -> ModelState:
        """One of "loading" (also before anybody asked), "ready", "missing", "off"."""
        return self._state

    @property
    def why(self) -> str:
        """Why there is no model, in a sentence; "" once it is ready."""
        return self._why

    def start(self) -> None:
        """Begin to load in the background; does nothing the second time."""
        with self._lock:
            if self._thread is None and not self._done.is_set():
                # No daemon: an interpreter that ends while the runtime loads takes the process down with it.
                self._thread = threading.Thread(target=self._load, name="winnow-model")
                self._thread.start()

    def ready(self) -> Embedder | None:
        """The model if it is there now; starts to load it if nobody has. Never waits."""
        self.start()
        return self._model

    def wait(self) -> Embedder | None:
        """The model once it is loaded, or None where there is none."""
        self.start()
        self._done.wait()
        return self._model

    def _load(self) -> None:
        try:
            self._model = load_model(self._models)
        except WinnowError as error:
            self._settle("missing", error.message)
        except Exception as error:  # a broken runtime, a full disk: lexical search must go on
            self._settle("missing", f"the embedding model does not load: {type(error).__name__}: {error}")
        else:
            self._settle("ready", "")

    def _settle(self, state: ModelState, why: str) -> None:
        self._state, self._why = state, why
        self._done.set()


def load_model(models: Path) -> Embedder:
    """The model, converted first if only its weights are at hand. Never downloads.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` where there is neither a converted model nor weights.
    """
    # ONNX Runtime takes a second to import: only the process that needs it pays, in the thread that loads.
    from server.backends import minilm

    if not minilm.is_converted(models):
        carrier = weights.installed_carrier()
        if carrier is None:
            raise WinnowError("MODEL_UNAVAILABLE", _MISSING)
        minilm.convert(carrier, models)
    return minilm.MiniLM(minilm.model_folder(models))


def install_model(models: Path, say: weights.Say) -> None:
    """Convert the model into ``models``, from the carrier if it is installed, else from a download.

    ``say`` is told each step. Raises ``WinnowError("MODEL_UNAVAILABLE")`` where there is no way to the weights.
    """
    from server.backends import minilm

    if minilm.is_converted(models):
        say(f"already there: {minilm.model_folder(models)}")
        return
    carrier = weights.installed_carrier()
    if carrier is not None:
        say(f"using the installed package {weights.CARRIER}: {carrier}")
        minilm.convert(carrier, models)
    else:
        with weights.downloaded(say) as folder:
            minilm.convert(folder, models)
    say(f"converted to int8: {minilm.model_folder(models)}")
