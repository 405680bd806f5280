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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from winnow.server.backends.models.embedding_scheduler import EmbeddingScheduler
from winnow.server.backends.models.model_identity import GRAPHS, digest
from winnow.server.backends.models.named_embedder import UNRELATED, NamedEmbedder
from winnow.server.backends.models.onnx_runtime import open_session
from winnow.server.errors import WinnowError
from winnow.server.storage.base import Vector

_WINDOW = 512
_POOLINGS = ("cls", "mean")
_MODES: Mapping[str, str] = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


class OnnxFolder(NamedEmbedder):
    """The model in ``folder``, loaded. Safe to call from several threads.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` if a file is missing or needs an unsupported feature.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder.resolve().name)
        graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
        if graph is None or not (folder / "tokenizer.json").is_file():
            raise _unusable_model_error(folder, "it needs model.onnx (or onnx/model.onnx) and tokenizer.json")
        self._pooling = _read_pooling(folder)
        self._tokenizer, window = _load_tokenizer(folder)
        self._session = open_session(graph, threads=1)  # several texts run at once
        self._inputs = [graph_input.name for graph_input in self._session.get_inputs()]
        files = digest([*sorted(graph.parent.glob("model.onnx*")), folder / "tokenizer.json"])
        self._fingerprint = f"onnx/{self._name}/{files}/{self._pooling}/{window}"
        self._turns = EmbeddingScheduler(self._embed_one)
        self._measure(self._embed_texts(UNRELATED))

    def _embed_texts(self, texts: Sequence[str]) -> Vector:
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
