"""A second stage: a model that reads query and passage together, from a folder of yours, on ONNX Runtime.

The folder holds ``model.onnx`` and ``tokenizer.json``, as the hubs publish cross-encoders. The model gives a
number for each pair, or several of which the last speaks for relevance; a logistic curve makes 0 to 1 of it.
Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Encoding, Tokenizer

from server.backends.models.onnx_runtime import open_session
from server.errors import WinnowError
from server.runtime.deadlines import check_deadline

# What such models were trained on; a chunk and a query are about half of it.
WINDOW = 512
_MODEL, _TOKENIZER = "model.onnx", "tokenizer.json"
_BATCH = 8
# A logit beyond this is 0 or 1 to all digits.
_STEEPEST = 30.0


class CrossEncoder:
    """The model, loaded. Safe to call from several threads.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` where the folder holds none that can be used.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
            self._session = open_session(folder / _MODEL)
        except Exception as error:  # both libraries raise their own, and bare Exception
            raise WinnowError(
                "MODEL_UNAVAILABLE",
                f"{folder} holds no cross-encoder that can be used ({type(error).__name__}); "
                f"it needs {_MODEL} and {_TOKENIZER}",
            ) from error
        self._tokenizer.enable_truncation(WINDOW, strategy="only_second")
        self._tokenizer.enable_padding()
        self._inputs = {one.name for one in self._session.get_inputs()}

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, 0 to 1."""
        found: list[float] = []
        for start in range(0, len(texts), _BATCH):
            check_deadline()
            pairs = [(query, text) for text in texts[start : start + _BATCH]]
            found += self._batch(self._tokenizer.encode_batch(pairs))
        return found

    def _batch(self, encodings: Sequence[Encoding]) -> list[float]:
        every = {
            "input_ids": [one.ids for one in encodings],
            "attention_mask": [one.attention_mask for one in encodings],
            "token_type_ids": [one.type_ids for one in encodings],
        }
        fed = {name: np.array(rows, dtype=np.int64) for name, rows in every.items() if name in self._inputs}
        logits = np.asarray(self._session.run(None, fed)[0], dtype=np.float64).reshape(len(encodings), -1)[:, -1]
        bounded = np.clip(logits, -_STEEPEST, _STEEPEST)
        return [float(one) for one in 1 / (1 + np.exp(-bounded))]
