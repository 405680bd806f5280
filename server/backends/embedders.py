"""The embedding model as the rest of the server meets it: loading in the background, ready, missing or off."""

from __future__ import annotations

from server.backends.base import Embedder, ModelState
from server.settings import Settings


class LazyEmbedder:
    """A model that loads in a background thread. See ``base.EmbedderSource``."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @property
    def state(self) -> ModelState:
        """Which of the four states the model is in."""
        return "missing"

    @property
    def why(self) -> str:
        """Why there is no model, in a sentence; "" once it is ready."""
        return "not built yet"

    def start(self) -> None:
        """Begin to load in the background; does nothing the second time."""

    def ready(self) -> Embedder | None:
        """The model if it is there now; never waits."""
        return None

    def wait(self) -> Embedder | None:
        """The model once it is loaded, or None where there is none."""
        return None
