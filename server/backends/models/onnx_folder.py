"""A sentence-transformers model that was exported to ONNX, from a folder of the user's: text to unit vectors.

The folder is laid out as on the Hugging Face hub::

    model.onnx, or onnx/model.onnx     inputs input_ids, attention_mask, token_type_ids (what of them it takes);
                                       output (batch, length, dimension), or pooled (batch, dimension)
    tokenizer.json
    1_Pooling/config.json              optional: mean (the default) or cls
    sentence_bert_config.json          optional: max_seq_length, the window in tokens

As with the default model each text is a run of its own, so that its vector depends on nothing but the text.
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
# Names such as bge-small-en-v1.5 say it; models for several languages do not carry the mark.
_ENGLISH_NAME = re.compile(r"(?:^|[-_/.])(?:en|english)(?:[-_/.]|$)|all-minilm-l\d+-v\d", re.IGNORECASE)


class OnnxFolder:
    """The model in ``folder``, loaded. Safe to call from several threads.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` where a file is missing or asks for what is not done here.
    """

    def __init__(self, folder: Path) -> None:
        graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
        if graph is None or not (folder / "tokenizer.json").is_file():
            raise _unusable(folder, "it needs model.onnx (or onnx/model.onnx) and tokenizer.json")
        self._pooling = _pooling(folder)
        self._tokenizer, window = _tokenizer(folder)
        self._session = open_session(graph, threads=1)  # several texts run at once
        self._inputs = [each.name for each in self._session.get_inputs()]
        self._name = folder.resolve().name
        self._digest = digest([*sorted(graph.parent.glob("model.onnx*")), folder / "tokenizer.json"])
        self._fingerprint = f"onnx/{self._name}/{self._digest}/{self._pooling}/{window}"
        self._turns = EmbeddingScheduler(self._embed_one)
        self._dimension = len(self.embed(["dimension"])[0])

    @property
    def fingerprint(self) -> str:
        """Changes with the files' bytes, the pooling and the window."""
        return self._fingerprint

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return self._dimension

    @property
    def languages(self) -> frozenset[str] | None:
        """English where the folder's name says so, else not known."""
        return languages_of(self._name)

    def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), dimension), in their order. Text beyond the window is cut."""
        if not texts:
            return np.empty((0, self._dimension), dtype=np.float32)
        return self._turns.rows(self._tokenizer.encode_batch(list(texts)))

    def _embed_one(self, text: Encoding) -> Vector:
        known = {"input_ids": text.ids, "attention_mask": text.attention_mask, "token_type_ids": text.type_ids}
        fed = {name: np.array([known[name]], dtype=np.int64) for name in self._inputs}
        return normalise(self._pooled(self._session.run(None, fed)[0][0]))

    def _pooled(self, output: NDArray[Any]) -> NDArray[Any]:
        """The vector of a text: the graph's own, or that of its first token, or the mean of all."""
        if output.ndim == 1:
            return output
        return np.asarray(output[0] if self._pooling == "cls" else output.mean(axis=0))


def languages_of(name: str) -> frozenset[str] | None:
    """What a model's name says of its languages.

    >>> languages_of("BAAI/bge-small-en-v1.5"), languages_of("BAAI/bge-m3")
    (frozenset({'en'}), None)
    """
    return ENGLISH if _ENGLISH_NAME.search(name) else None


def normalise(vector: NDArray[Any]) -> Vector:
    """The vector at length 1; zeros stay zeros."""
    vector = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length else vector, dtype=np.float32)


def _pooling(folder: Path) -> str:
    told = _read(folder / "1_Pooling" / "config.json")
    asked = {
        mode.removeprefix("pooling_mode_") for mode, is_on in told.items() if is_on is True and "_mode_" in mode
    }
    named = {_MODES[f"pooling_mode_{mode}"] for mode in asked if f"pooling_mode_{mode}" in _MODES}
    if isinstance(told.get("pooling_mode"), str):
        asked = named = {str(told["pooling_mode"])}
    if not asked:
        return "mean"
    if len(asked) > 1 or not named or not named <= set(_POOLINGS):
        raise _unusable(folder, f"its pooling is {', '.join(sorted(asked))}; winnow does mean and cls")
    return named.pop()


def _tokenizer(folder: Path) -> tuple[Tokenizer, int]:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    stated = _read(folder / "sentence_bert_config.json").get("max_seq_length")
    window = int(stated or (tokenizer.truncation or {}).get("max_length", _WINDOW))
    tokenizer.enable_truncation(window)
    tokenizer.no_padding()
    return tokenizer, window


def _read(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise _unusable(path.parent, f"{path.name} is no JSON: {error}") from None
    return told if isinstance(told, dict) else {}


def _unusable(folder: Path, why: str) -> WinnowError:
    return WinnowError("MODEL_UNAVAILABLE", f"the model in {folder} cannot be used: {why}")
