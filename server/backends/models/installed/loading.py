"""Models installed by name: loading, and the folder that holds an installed model.

An installed model is a folder of ``model.onnx``, ``tokenizer.json`` and a record of their sizes and digests below
``settings.models``. It is made once, from checked files, in a temporary folder that is renamed when its files are
on disk, so several processes may install at once. Sizes are compared at each load, digests by `winnow doctor` and
`winnow model install`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from tokenizers import Tokenizer

from winnow.server.backends.models.installed import weights
from winnow.server.backends.models.installed.conversion_space import check_space, map_conversion_errors
from winnow.server.backends.models.installed.table import DEFAULT, MODEL, TOKENIZER, Form, ModelRecord
from winnow.server.backends.models.onnx_encoder import OnnxEncoder
from winnow.server.storage.base import Vector
from winnow.server.storage.files.temporary_folders import CONVERTING, temporary_folder

RECORD = "record.json"
_FILES = (MODEL, TOKENIZER)


class InstalledModel:
    """A model of the table, loaded from its folder. Safe to call from several threads."""

    def __init__(self, model: ModelRecord, folder: Path) -> None:
        self._record = model
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._encoder = OnnxEncoder(folder / MODEL, tokenizer, model.rules)

    @property
    def fingerprint(self) -> str:
        """The identity of the vectors: it changes whenever they change."""
        return self._record.fingerprint

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._record.dimension

    @property
    def languages(self) -> frozenset[str] | None:
        """The languages that the model was trained on; None for all."""
        return self._record.languages

    @property
    def background(self) -> float:
        """The usual cosine of unrelated texts."""
        return self._record.background

    @property
    def related(self) -> float:
        """The usual cosine of a question and a text that answers it."""
        return self._record.related

    def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors of passages, in the order of ``texts``. Text beyond the window is cut."""
        return self._encoder.embed(texts) if texts else self._no_vectors()

    def embed_queries(self, queries: Sequence[str]) -> Vector:
        """Unit vectors of queries, in their order."""
        return self._encoder.embed_queries(queries) if queries else self._no_vectors()

    def _no_vectors(self) -> Vector:
        return np.empty((0, self.dimension), dtype=np.float32)


def model_folder(models: Path, model: ModelRecord = DEFAULT) -> Path:
    """The folder of the installed model below ``models``, whether it exists or not."""
    return models / model.folder


def is_converted(models: Path, model: ModelRecord = DEFAULT) -> bool:
    """Whether the installed model exists and each file has the recorded size."""
    return not find_damage(models, model)


def find_damage(models: Path, model: ModelRecord = DEFAULT, *, compares_digests: bool = False) -> str:
    """The fault of the installed model, in a few words; "" if there is none."""
    folder = model_folder(models, model)
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


def convert(source: Path, models: Path, model: ModelRecord = DEFAULT) -> None:
    """Check the model's files in ``source`` and make the installed model of them in ``models``. Seconds, once.

    A damaged model is replaced. Raises ``WinnowError("MODEL_UNAVAILABLE")`` if the files are not the published
    ones, or the disk has too little space or cannot be written.
    """
    check_space(models, model)
    with map_conversion_errors(models, model):
        weights.check(source, model)
        models.mkdir(parents=True, exist_ok=True)
        with temporary_folder(models, CONVERTING) as elsewhere:
            made = elsewhere / "model"
            made.mkdir()
            _MAKERS[model.form](source, made, model)
            _write_record(made)
            _put_in_place(made, models, model)


# The converters need ``onnx``, which a process that only runs a model never loads.


def _convert_safetensors(source: Path, made: Path, model: ModelRecord) -> None:
    from winnow.server.backends.models.installed import bert_graph

    shutil.copyfile(source / TOKENIZER, made / TOKENIZER)
    bert_graph.convert(bert_graph.read_safetensors(source / model.weights), made / MODEL)


def _convert_packed(source: Path, made: Path, model: ModelRecord) -> None:
    from winnow.server.backends.models.installed import bert_graph, packed_weights

    packed = packed_weights.read(source / model.weights)
    packed_weights.make_tokenizer(packed).save(str(made / TOKENIZER), pretty=False)
    bert_graph.convert(packed_weights.tensors_of(packed), made / MODEL)


def _copy_graph(source: Path, made: Path, _: ModelRecord) -> None:
    for name in _FILES:
        shutil.copyfile(source / name, made / name)


_MAKERS: Mapping[Form, Callable[[Path, Path, ModelRecord], None]] = MappingProxyType(
    {"safetensors": _convert_safetensors, "graph": _copy_graph, "packed": _convert_packed}
)


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


def _put_in_place(made: Path, models: Path, model: ModelRecord) -> None:
    try:
        os.rename(made, model_folder(models, model))
    except OSError:
        if _holds_same_files(made, models, model):  # another process was first
            return
        os.rename(model_folder(models, model), made.parent / "former")
        os.rename(made, model_folder(models, model))


def _holds_same_files(made: Path, models: Path, model: ModelRecord) -> bool:
    if find_damage(models, model, compares_digests=True):
        return False
    return (made / RECORD).read_bytes() == (model_folder(models, model) / RECORD).read_bytes()


def write_float32(source: Path, target: Path) -> None:
    """Write the default model in full precision, from the same published files, to the file ``target``."""
    from winnow.server.backends.models.installed import bert_graph

    weights.check(source)
    bert_graph.write_float32(bert_graph.read_safetensors(source / DEFAULT.weights), target)
