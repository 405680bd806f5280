"""Disk space for installing a model by name, and errors that name the folders it is converted in.

The quantiser writes the graph in full precision twice, first beside the result and then in the folder for
temporary files. The libraries do not report a full disk as one: they read back a file that was cut short.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from winnow.server.backends.models.installed.table import DEFAULT, MIB, ModelRecord
from winnow.server.errors import WinnowError


def check_space(models: Path, model: ModelRecord = DEFAULT, *, downloads: bool = False) -> None:
    """Raise ``WinnowError("MODEL_UNAVAILABLE")`` where a folder's disk has too little space for a conversion."""
    temporary, space = temporary_folder_path(), model.space
    needs = {models: space.models, temporary: space.temporary + (space.download if downloads else 0)}
    if downloads and _device(models) == _device(temporary):
        needs[models] += space.download
    small = [folder for folder, needed in needs.items() if _free(folder) < needed]
    if small:
        raise _space_error(model, needs, f"too little space in {' and in '.join(map(str, small))}")


@contextmanager
def map_conversion_errors(models: Path, model: ModelRecord = DEFAULT) -> Iterator[None]:
    """Around a conversion: whatever fails becomes ``WinnowError("MODEL_UNAVAILABLE")`` with the folders in use."""
    try:
        yield
    except WinnowError:
        raise
    except Exception as error:  # onnx, protobuf and the quantiser each raise their own where a file was cut short
        reason = f"{error.strerror}: {error.filename or models}" if isinstance(error, OSError) else str(error)
        needs = {models: model.space.models, temporary_folder_path(): model.space.temporary}
        raise _space_error(model, needs, f"{type(error).__name__}: {reason}") from error


def temporary_folder_path() -> Path:
    """The folder for temporary files; the one that TMPDIR names, where none can be written."""
    try:
        return Path(tempfile.gettempdir())
    except OSError:
        return Path(os.environ.get("TMPDIR") or "/tmp")


def _space_error(model: ModelRecord, needs: Mapping[Path, int], why: str) -> WinnowError:
    places = " and ".join(
        f"{needed // MIB} MB in {folder} ({_free(folder) // MIB:,} MB are free)"
        for folder, needed in needs.items()
        if needed
    )
    return WinnowError(
        "MODEL_UNAVAILABLE",
        f"the embedding model cannot be converted: {why}. For a moment it needs {places}, and each must be "
        f"writable; free some space, or set WINNOW_MODELS and TMPDIR to other folders, then run: {model.command}",
        retryable=True,
    )


def _free(folder: Path) -> int:
    try:
        return shutil.disk_usage(_nearest(folder)).free
    except OSError:
        return 0


def _device(folder: Path) -> int:
    try:
        return _nearest(folder).stat().st_dev
    except OSError:
        return -1


def _nearest(folder: Path) -> Path:
    """The folder, or its nearest parent that exists."""
    return next((path for path in (folder, *folder.parents) if path.exists()), folder)
