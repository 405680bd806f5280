"""Texts to unit vectors with a graph on ONNX Runtime, by a model's ``EncodingRules``.

Each text is a separate run on one thread; several run at once. Dynamic quantisation measures the range of whole
tensors, so in a batch a text's vector would depend on its neighbours, and an interrupted ingest would produce
other vectors than an uninterrupted one. Single texts need no padding, so this costs no speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from winnow.server.backends.models.embedding_scheduler import EmbeddingScheduler
from winnow.server.backends.models.installed.table import EncodingRules
from winnow.server.backends.models.onnx_runtime import open_session
from winnow.server.storage.base import Vector

# The fused residual and normalisation takes 47 ms where the two operators that it replaces take 16 (eight texts
# of 200 pieces, one thread, ONNX Runtime 1.31).
SLOWER_FUSED = ["SkipLayerNormFusion"]


class OnnxEncoder:
    """A graph and its tokenizer, loaded. Safe to call from several threads.

    The graph takes any of input_ids, attention_mask and token_type_ids; its output is (batch, length, dimension),
    or pooled (batch, dimension).
    """

    def __init__(self, graph: Path, tokenizer: Tokenizer, rules: EncodingRules) -> None:
        self._rules = rules
        self._tokenizer = tokenizer
        self._tokenizer.enable_truncation(rules.window)
        self._tokenizer.no_padding()
        self._session = open_session(graph, threads=1, disabled_optimizers=SLOWER_FUSED)
        self._inputs = [graph_input.name for graph_input in self._session.get_inputs()]
        self._turns = EmbeddingScheduler(self._embed_one)

    def embed(self, texts: Sequence[str]) -> Vector:
        """The vectors of passages, of which there is at least one, in their order."""
        return self._embed(self._rules.passage_prefix, texts)

    def embed_queries(self, queries: Sequence[str]) -> Vector:
        """The vectors of queries, of which there is at least one, in their order."""
        return self._embed(self._rules.query_prefix, queries)

    def _embed(self, prefix: str, texts: Sequence[str]) -> Vector:
        return self._turns.rows(self._tokenizer.encode_batch([prefix + text for text in texts]))

    def _embed_one(self, text: Encoding) -> Vector:
        inputs = {"input_ids": text.ids, "attention_mask": text.attention_mask, "token_type_ids": text.type_ids}
        feed = {name: np.array([inputs[name]], dtype=np.int64) for name in self._inputs}
        output = self._session.run(None, feed)[0][0]
        if self._rules.pooling == "graph":
            return np.asarray(output, dtype=np.float32)
        return normalise(self._pool(output))

    def _pool(self, output: NDArray[Any]) -> NDArray[Any]:
        """The vector of a text: the graph's pooled output, the first token's vector, or the mean of all tokens."""
        if output.ndim == 1:
            return output
        return np.asarray(output[0] if self._rules.pooling == "cls" else output.mean(axis=0))


def normalise(vector: NDArray[Any]) -> Vector:
    """The vector scaled to length 1; a zero vector stays zero."""
    vector = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length else vector, dtype=np.float32)
