"""Embedding models of the optional package fastembed: text to unit vectors.

The package is not a dependency; it is imported when a setting names one of its models. Loading reads local files
and never uses the network; ``download`` does, and only `winnow model install` calls it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from winnow.server.backends.models.embedding_scheduler import EmbeddingScheduler
from winnow.server.backends.models.named_embedder import ANSWERS, QUESTIONS, NamedEmbedder
from winnow.server.backends.models.onnx_encoder import normalise
from winnow.server.backends.models.onnx_runtime import import_with_runtime
from winnow.server.errors import WinnowError
from winnow.server.storage.base import Vector

_NOT_INSTALLED = "fastembed is not installed; run: pip install fastembed"


class FastembedModel(NamedEmbedder):
    """The model ``name``, loaded from the files below ``models``. Safe to call from several threads.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` if the package or the files are missing, or the name is unknown.
    """

    def __init__(self, name: str, models: Path) -> None:
        super().__init__(name)
        self._model = _open(name, models, is_offline=True)
        self._fingerprint = f"fastembed/{name}/{_revision(models, name)}"
        self._turns = EmbeddingScheduler(self._embed_one)
        self._measure(self._embed_texts(QUESTIONS), self._embed_texts(ANSWERS))

    def _embed_texts(self, texts: Sequence[str]) -> Vector:
        return self._turns.rows(texts)

    def _embed_one(self, text: str) -> Vector:
        return normalise(next(iter(self._model.embed([text]))))


def download(name: str, models: Path) -> None:
    """Download the model's files below ``models``. Raises ``WinnowError("MODEL_UNAVAILABLE")`` if that fails."""
    _open(name, models, is_offline=False)


def _open(name: str, models: Path, *, is_offline: bool) -> Any:
    try:
        kind = import_with_runtime("fastembed").TextEmbedding
    except ImportError:
        raise WinnowError("MODEL_UNAVAILABLE", _NOT_INSTALLED) from None
    known = {str(model["model"]).lower() for model in kind.list_supported_models()}
    if name.lower() not in known:
        raise WinnowError("MODEL_UNAVAILABLE", f"fastembed has no model {name!r}; it knows {len(known)} others")
    try:
        return kind(name, cache_dir=str(_folder(models, name)), threads=1, local_files_only=is_offline)
    except Exception as error:  # the hub's client raises exceptions of many types
        advice = f"run: winnow model install --embedder fastembed:{name}" if is_offline else str(error)
        raise WinnowError("MODEL_UNAVAILABLE", f"the files of {name} are not available: {advice}") from error


def _folder(models: Path, name: str) -> Path:
    return models / "fastembed" / name.replace("/", "--")


def _revision(models: Path, name: str) -> str:
    """A digest of the model's graphs, independent of the layout of the package's cache."""
    digest = hashlib.sha256()
    for path in sorted(_folder(models, name).rglob("*.onnx*")):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]
