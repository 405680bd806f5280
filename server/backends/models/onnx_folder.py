"""Embedding models in a folder of the user: sentence-transformers models that were exported to ONNX.

The folder has the layout of the Hugging Face hub::

    model.onnx, or onnx/model.onnx     inputs: any of input_ids, attention_mask, token_type_ids;
                                       output: (batch, length, dimension), or pooled (batch, dimension)
    tokenizer.json
    1_Pooling/config.json              optional: mean (the default) or cls
    sentence_bert_config.json          optional: max_seq_length, the window in tokens

As with the default model, each text is a separate run, so that its vector depends on the text alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from server.backends.base import ENGLISH, Vector
from server.backends.models.embedding_scheduler import EmbeddingScheduler
from server.backends.models.model_identity import GRAPHS, digest
from server.backends.models.onnx_runtime import open_session
from server.errors import WinnowError

_WINDOW = 512
_POOLINGS = ("cls", "mean")
_MODES: Mapping[str, str] = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
# English models have names such as bge-small-en-v1.5; names of multilingual models do not match.
_ENGLISH_NAME = re.compile(r"(?:^|[-_/.])(?:en|english)(?:[-_/.]|$)|all-minilm-l\d+-v\d", re.IGNORECASE)


class OnnxFolder:
    """The model in ``folder``, loaded. Safe to call from several threads.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` if a file is missing or needs an unsupported feature.
    """

    def __init__(self, folder: Path) -> None:
        graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
        if graph is None or not (folder / "tokenizer.json").is_file():
            raise _unusable_model_error(folder, "it needs model.onnx (or onnx/model.onnx) and tokenizer.json")
        self._pooling = _read_pooling(folder)
        self._tokenizer, window = _load_tokenizer(folder)
        self._session = open_session(graph, threads=1)  # several texts run at once
        self._inputs = [graph_input.name for graph_input in self._session.get_inputs()]
        self._name = folder.resolve().name
        self._digest = digest([*sorted(graph.parent.glob("model.onnx*")), folder / "tokenizer.json"])
        self._fingerprint = f"onnx/{self._name}/{self._digest}/{self._pooling}/{window}"
        self._turns = EmbeddingScheduler(self._embed_one)
        self._dimension = len(self.embed(["dimension"])[0])

    @property
    def fingerprint(self) -> str:
        """The identity of the vectors: it changes with the files' bytes, the pooling and the window."""
        return self._fingerprint

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._dimension

    @property
    def languages(self) -> frozenset[str] | None:
        """English if the folder's name is that of an English model, else None (unknown)."""
        return languages_of(self._name)

    def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), dimension), in the order of ``texts``. Longer texts are truncated."""
        if not texts:
            return np.empty((0, self._dimension), dtype=np.float32)
        return self._turns.rows(self._tokenizer.encode_batch(list(texts)))

    def _embed_one(self, text: Encoding) -> Vector:
        inputs = {"input_ids": text.ids, "attention_mask": text.attention_mask, "token_type_ids": text.type_ids}
        feed = {name: np.array([inputs[name]], dtype=np.int64) for name in self._inputs}
        return normalise(self._pool(self._session.run(None, feed)[0][0]))

    def _pool(self, output: NDArray[Any]) -> NDArray[Any]:
        """The vector of a text: the graph's pooled output, the first token's vector, or the mean of all tokens."""
        if output.ndim == 1:
            return output
        return np.asarray(output[0] if self._pooling == "cls" else output.mean(axis=0))


def languages_of(name: str) -> frozenset[str] | None:
    """The languages of a model by its name; None if they are unknown.

    >>> languages_of("BAAI/bge-small-en-v1.5"), languages_of("BAAI/bge-m3")
    (frozenset({'en'}), None)
    """
    return ENGLISH if _ENGLISH_NAME.search(name) else None


def normalise(vector: NDArray[Any]) -> Vector:
    """The vector scaled to length 1; a zero vector stays zero."""
    vector = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length else vector, dtype=np.float32)


def _read_pooling(folder: Path) -> str:
    config = _read_config(folder / "1_Pooling" / "config.json")
    asked = {
        mode.removeprefix("pooling_mode_") for mode, is_on in config.items() if is_on is True and "_mode_" in mode
    }
    named = {_MODES[f"pooling_mode_{mode}"] for mode in asked if f"pooling_mode_{mode}" in _MODES}
    if isinstance(config.get("pooling_mode"), str):
        asked = named = {str(config["pooling_mode"])}
    if not asked:
        return "mean"
    if len(asked) > 1 or not named or not named <= set(_POOLINGS):
        raise _unusable_model_error(
            folder, f"its pooling is {', '.join(sorted(asked))}; winnow supports mean and cls"
        )
    return named.pop()


def _load_tokenizer(folder: Path) -> tuple[Tokenizer, int]:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    stated = _read_config(folder / "sentence_bert_config.json").get("max_seq_length")
    window = int(stated or (tokenizer.truncation or {}).get("max_length", _WINDOW))
    tokenizer.enable_truncation(window)
    tokenizer.no_padding()
    return tokenizer, window


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise _unusable_model_error(path.parent, f"{path.name} is not JSON: {error}") from None
    return config if isinstance(config, dict) else {}


def _unusable_model_error(folder: Path, why: str) -> WinnowError:
    return WinnowError("MODEL_UNAVAILABLE", f"the model in {folder} cannot be used: {why}")
