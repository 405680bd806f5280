"""all-MiniLM-L6-v2 at work: text to unit vectors on ONNX Runtime, no torch, no network.

The converted model is a folder of two files, ``model.onnx`` and ``tokenizer.json``, below ``settings.models``.
It is made once, from checked weights, in a folder of its own that is then renamed: a model folder that exists
is whole, whoever made it and however many did so at once.

Each text is a run of its own, on one thread; several run at once. Dynamic quantisation measures the range of
whole tensors, so in a batch a text's vector would depend on its neighbours, and an interrupted ingest would
not end at the vectors of an uninterrupted one. Alone there is no padding either, so nothing is lost in speed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from server.backends.base import ENGLISH, Vector
from server.backends.files.temporary_folders import CONVERTING, temporary_folder
from server.backends.models import weights
from server.backends.models.embedding_scheduler import EmbeddingScheduler
from server.backends.models.onnx_runtime import open_session

# What the model was trained on: text beyond it does not reach the vector, so chunks are cut below it.
WINDOW = 256
# Grows when the conversion changes in a way that changes vectors.
RECIPE = 1
FINGERPRINT = f"{weights.NAME}/int8/{weights.SHA256[weights.WEIGHTS][:8]}/{RECIPE}"

# The fused residual and normalisation takes 47 ms where the two operators that it replaces take 16 (eight texts
# of 200 pieces, one thread, ONNX Runtime 1.31).
SLOWER_FUSED = ["SkipLayerNormFusion"]


class MiniLM:
    """The model, loaded. Safe to call from several threads.

    >>> model = MiniLM(model_folder(Path("~/.cache/winnow/models").expanduser()))  # doctest: +SKIP
    >>> model.embed(["what a pod is"]).shape  # doctest: +SKIP
    (1, 384)
    """

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / weights.TOKENIZER))
        self._tokenizer.enable_truncation(WINDOW)
        self._tokenizer.no_padding()
        self._session = open_session(folder / "model.onnx", threads=1, disabled_optimizers=SLOWER_FUSED)
        self._turns = EmbeddingScheduler(self._embed_one)

    @property
    def fingerprint(self) -> str:
        """Changes whenever the vectors would."""
        return FINGERPRINT

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return weights.DIMENSION

    @property
    def languages(self) -> frozenset[str] | None:
        """English: what the model was trained on."""
        return ENGLISH

    def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), 384), in the order of ``texts``. Text beyond the window is cut."""
        if not texts:
            return np.empty((0, weights.DIMENSION), dtype=np.float32)
        return self._turns.rows([each.ids for each in self._tokenizer.encode_batch(list(texts))])

    def _embed_one(self, ids: Sequence[int]) -> Vector:
        (vectors,) = self._session.run(None, {"input_ids": np.array([ids], dtype=np.int64)})
        return np.asarray(vectors[0], dtype=np.float32)


def model_folder(models: Path) -> Path:
    """Where the converted model lies below ``models``, whether it exists or not."""
    return models / f"{weights.NAME}-int8-{RECIPE}"


def is_converted(models: Path) -> bool:
    """Whether the converted model is there."""
    return model_folder(models).is_dir()


def convert(source: Path, models: Path) -> None:
    """Check the two files in ``source`` and convert them into ``models``. About two seconds, once.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` where the files are not the published ones.
    """
    # The converter needs ``onnx``, which a process that only runs the model never loads.
    from server.backends.models import minilm_conversion

    weights.check(source)
    models.mkdir(parents=True, exist_ok=True)
    with temporary_folder(models, CONVERTING) as elsewhere:
        made = elsewhere / "model"
        made.mkdir()
        shutil.copyfile(source / weights.TOKENIZER, made / weights.TOKENIZER)
        minilm_conversion.convert(source / weights.WEIGHTS, made / "model.onnx")
        try:
            os.rename(made, model_folder(models))
        except OSError:
            if not is_converted(models):  # otherwise another process was first, with the same bytes
                raise


def write_float32(source: Path, target: Path) -> None:
    """The model as it was published, of the same two files, in full precision: ``target`` becomes an ONNX file."""
    from server.backends.models import minilm_conversion

    weights.check(source)
    minilm_conversion.write_float32(source / weights.WEIGHTS, target)
