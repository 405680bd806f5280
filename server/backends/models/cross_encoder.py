"""Reranking with a cross-encoder from the user's folder, on ONNX Runtime.

The folder holds ``model.onnx`` and ``tokenizer.json``, as hubs publish cross-encoders. The model gives one logit
for each pair, or several of which the last is relevance; a logistic function maps it to 0 to 1. Nothing is
downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from winnow.server.backends.models.onnx_runtime import open_session
from winnow.server.errors import WinnowError
from winnow.server.runtime.deadlines import check_deadline

# What such models were trained on; a chunk and a query are about half of it.
WINDOW = 512
_MODEL, _TOKENIZER = "model.onnx", "tokenizer.json"
_BATCH = 8
# A logit beyond this is 0 or 1 to all digits.
_MAX_LOGIT = 30.0


class PairModel:
    """A model in a folder that takes two texts at once. Safe to call from several threads.

    ``kind`` is what messages call it; ``truncation`` says which text is cut where both are too long.
    Raises ``WinnowError("MODEL_UNAVAILABLE")`` where the folder holds no usable model.
    """

    def __init__(self, folder: Path, kind: str, truncation: str) -> None:
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
            self._session = open_session(folder / _MODEL)
        except Exception as error:  # both libraries raise their own, and bare Exception
            raise WinnowError(
                "MODEL_UNAVAILABLE",
                f"{folder} holds no {kind} that can be used ({type(error).__name__}); "
                f"it needs {_MODEL} and {_TOKENIZER}",
            ) from error
        self._tokenizer.enable_truncation(WINDOW, strategy=truncation)
        self._tokenizer.enable_padding()
        self._inputs = {node.name for node in self._session.get_inputs()}

    def logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """The model's logits, shape (len(pairs), those that it gives for a pair), in one run."""
        check_deadline()
        encodings = self._tokenizer.encode_batch(list(pairs))
        available = {
            "input_ids": [encoding.ids for encoding in encodings],
            "attention_mask": [encoding.attention_mask for encoding in encodings],
            "token_type_ids": [encoding.type_ids for encoding in encodings],
        }
        inputs = {name: np.array(rows, dtype=np.int64) for name, rows in available.items() if name in self._inputs}
        logits = np.asarray(self._session.run(None, inputs)[0], dtype=np.float64)
        return logits.reshape(len(encodings), -1)


class CrossEncoder:
    """The loaded model. Safe to call from several threads. Raises as ``PairModel`` does."""

    def __init__(self, folder: Path) -> None:
        self._model = PairModel(folder, "cross-encoder", "only_second")

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The score of each text as an answer to the query, 0 to 1."""
        scores: list[float] = []
        for start in range(0, len(texts), _BATCH):
            logits = self._model.logits([(query, text) for text in texts[start : start + _BATCH]])[:, -1]
            scores += (1 / (1 + np.exp(-np.clip(logits, -_MAX_LOGIT, _MAX_LOGIT)))).tolist()
        return scores
