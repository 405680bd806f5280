"""The embedding model all-MiniLM-L6-v2: text to unit vectors on ONNX Runtime, without torch or network.

The converted model is a folder of ``model.onnx``, ``tokenizer.json`` and a record of their sizes and digests
below ``settings.models``. It is converted once, from checked weights, in a temporary folder that is renamed when
its files are on disk, so several processes may convert at once. Sizes are compared at each load, digests by
`winnow doctor` and `winnow model install`.

Each text is a separate run on one thread; several run at once. Dynamic quantisation measures the range of whole
tensors, so in a batch a text's vector would depend on its neighbours, and an interrupted ingest would produce
other vectors than an uninterrupted one. Single texts need no padding, so this costs no speed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from winnow.server.backends.models import weights
from winnow.server.backends.models.conversion_space import check_space, map_conversion_errors
from winnow.server.backends.models.embedding_scheduler import EmbeddingScheduler
from winnow.server.backends.models.onnx_runtime import open_session
from winnow.server.storage.base import ENGLISH, Vector
from winnow.server.storage.files.temporary_folders import CONVERTING, temporary_folder

# The length the model was trained on, in word pieces. Longer text is truncated, so chunks are smaller.
WINDOW = 256
# Unrelated texts have cosines around 0.04 and whole collections 0.05 to 0.18; rankings with 0 and with 0.1 are
# equally good (docs/decisions/0003-retrieval.md).
BACKGROUND = 0.0
# Incremented when a change of the conversion changes vectors.
RECIPE = 1
FINGERPRINT = f"{weights.NAME}/int8/{weights.SHA256[weights.WEIGHTS][:8]}/{RECIPE}"

MODEL, RECORD = "model.onnx", "record.json"
_FILES = (MODEL, weights.TOKENIZER)

# The fused residual and normalisation takes 47 ms where the two operators that it replaces take 16 (eight texts
# of 200 pieces, one thread, ONNX Runtime 1.31).
SLOWER_FUSED = ["SkipLayerNormFusion"]


class MiniLM:
    """The model, loaded. Safe to call from several threads. A text has a vector of 384 numbers."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / weights.TOKENIZER))
        self._tokenizer.enable_truncation(WINDOW)
        self._tokenizer.no_padding()
        self._session = open_session(folder / MODEL, threads=1, disabled_optimizers=SLOWER_FUSED)
        self._turns = EmbeddingScheduler(self._embed_one)

    @property
    def fingerprint(self) -> str:
        """The identity of the vectors: it changes whenever they change."""
        return FINGERPRINT

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return weights.DIMENSION

    @property
    def languages(self) -> frozenset[str] | None:
        """English, which the model was trained on."""
        return ENGLISH

    @property
    def background(self) -> float:
        """The usual cosine of unrelated texts."""
        return BACKGROUND

    def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), 384), in the order of ``texts``. Text beyond the window is cut."""
        if not texts:
            return np.empty((0, weights.DIMENSION), dtype=np.float32)
        return self._turns.rows([encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))])

    def _embed_one(self, ids: Sequence[int]) -> Vector:
        (vectors,) = self._session.run(None, {"input_ids": np.array([ids], dtype=np.int64)})
        return np.asarray(vectors[0], dtype=np.float32)


def model_folder(models: Path) -> Path:
    """The folder of the converted model below ``models``, whether it exists or not."""
    return models / f"{weights.NAME}-int8-{RECIPE}"


def is_converted(models: Path) -> bool:
    """Whether the converted model exists and each file has the recorded size."""
    return not find_damage(models)


def find_damage(models: Path, *, compares_digests: bool = False) -> str:
    """The fault of the converted model, in a few words; "" if there is none."""
    folder = model_folder(models)
    try:
        record = json.loads((folder / RECORD).read_text("utf-8"))
        for name in _FILES:
            if (folder / name).stat().st_size != record[name]["size"]:
                return f"{name} has changed since it was written (its size differs)"
            if compares_digests and weights.compute_sha256(folder / name) != record[name]["sha256"]:
                return f"{name} has changed since it was written (its sha256 differs)"
    except OSError as error:
        return f"{Path(str(error.filename)).name} cannot be read ({error.strerror})"
    except (ValueError, LookupError, TypeError):
        return f"{RECORD} has changed since it was written (it is not valid)"
    return ""


def convert(source: Path, models: Path) -> None:
    """Check the two files in ``source`` and convert them into ``models``. About two seconds, once.

    A damaged model is replaced. Raises ``WinnowError("MODEL_UNAVAILABLE")`` if the files are not the published
    ones, or the disk has too little space or cannot be written.
    """
    # The converter needs ``onnx``, which a process that only runs the model never loads.
    from winnow.server.backends.models import minilm_conversion

    check_space(models)
    with map_conversion_errors(models):
        weights.check(source)
        models.mkdir(parents=True, exist_ok=True)
        with temporary_folder(models, CONVERTING) as elsewhere:
            made = elsewhere / "model"
            made.mkdir()
            shutil.copyfile(source / weights.TOKENIZER, made / weights.TOKENIZER)
            minilm_conversion.convert(source / weights.WEIGHTS, made / MODEL)
            _write_record(made)
            _put_in_place(made, models)


def _write_record(made: Path) -> None:
    """Write the record of sizes and digests and flush all files of the folder to disk."""
    record = {
        name: {"size": (made / name).stat().st_size, "sha256": weights.compute_sha256(made / name)}
        for name in _FILES
    }
    (made / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
    for path in (*(made / name for name in (*_FILES, RECORD)), made):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _put_in_place(made: Path, models: Path) -> None:
    try:
        os.rename(made, model_folder(models))
    except OSError:
        if _holds_same_files(made, models):  # another process was first
            return
        os.rename(model_folder(models), made.parent / "former")
        os.rename(made, model_folder(models))


def _holds_same_files(made: Path, models: Path) -> bool:
    if find_damage(models, compares_digests=True):
        return False
    return (made / RECORD).read_bytes() == (model_folder(models) / RECORD).read_bytes()


def write_float32(source: Path, target: Path) -> None:
    """Write the model in full precision, from the same two published files, to the ONNX file ``target``."""
    from winnow.server.backends.models import minilm_conversion

    weights.check(source)
    minilm_conversion.write_float32(source / weights.WEIGHTS, target)
