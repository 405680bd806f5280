"""Identities of models from the settings: two processes with equal identities compute the same vectors.

Nothing is loaded: a server that shares an engine has no model runtime.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from winnow.server.backends.models.installed.table import find_record
from winnow.server.settings.settings import Settings

GRAPHS = ("model.onnx", "onnx/model.onnx")
TOKENIZER = "tokenizer.json"
POOLING, WINDOW = "1_Pooling/config.json", "sentence_bert_config.json"
PROMPTS, TOKENIZER_CONFIG = "config_sentence_transformers.json", "tokenizer_config.json"
_SMALL = (TOKENIZER, POOLING, WINDOW, PROMPTS, TOKENIZER_CONFIG)
_CHARS = 12


def embedder_of(settings: Settings) -> str:
    """The embedding model of these settings: of the table by its weights, a folder by its files, or a name."""
    if record := find_record(settings):
        return f"{record.key}:{record.sha256[record.weights][:_CHARS]}"
    kind, _, which = settings.embedder.whole.partition(":")
    if kind == "onnx":
        folder = Path(which).expanduser().resolve()
        return f"{kind}:{folder.name}/{_identity(folder)}"  # the name is in the fingerprint of its vectors, too
    return str(settings.embedder)


def reranker_of(settings: Settings) -> str:
    """The second stage of these settings, by its files; "" for none."""
    return _identity(settings.reranker.resolve()) if settings.reranker else ""


def nli_model_of(settings: Settings) -> str:
    """The model that judges claims, by its files; "" for none."""
    return nli_identity(settings.nli_model) if settings.nli_model else ""


def nli_identity(folder: Path) -> str:
    """A digest of the model, the tokenizer and the labels in a folder; its path if it cannot be read."""
    return _identity(folder.resolve(), (TOKENIZER, "config.json"))


def digest(files: Sequence[Path]) -> str:
    """A digest of the bytes of these files, in this order. Raises ``OSError`` for one that is no file."""
    whole = hashlib.sha256()
    for path in files:
        if not path.is_file():  # a pipe or a device would never end
            raise OSError(errno.EINVAL, "it is no file", str(path))
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()[:_CHARS]


def _parts(folder: Path) -> list[Path]:
    """The ONNX files in a model's folder, with their external data."""
    return [path for name in GRAPHS for path in sorted((folder / name).parent.glob("model.onnx*"))]


def _identity(folder: Path, small: Sequence[str] = _SMALL) -> str:
    """A digest of the folder's files, these small ones among them; the path of a folder that cannot be read."""
    try:
        files = [*_parts(folder), *(path for name in small if (path := folder / name).is_file())]
        states = tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in files)
        return _digest_of(states) if files else str(folder)
    except OSError:
        return str(folder)


@lru_cache(maxsize=4)
def _digest_of(states: tuple[tuple[Path, int, int], ...]) -> str:
    """Cached, because the files are hundreds of megabytes; a changed file has another state."""
    return digest([path for path, _, _ in states])
