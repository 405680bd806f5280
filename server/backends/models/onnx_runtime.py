"""ONNX Runtime with its telemetry switched off. No other module imports it.

From 1.31 on, the published wheels send usage events to their maker and keep an identifier of the machine in the
user's cache folder. Nothing of winnow's may leave the machine, so telemetry is off whatever the environment says.
The variable must be set before the import: the library has opened its database by the time the import returns.
Packages that import ONNX Runtime themselves (fastembed) are imported by ``import_with_runtime``.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # of the client that fastembed downloads with

import onnxruntime  # type: ignore[import-untyped]

# What a build that does not know the variable understands (on Windows: trace events of the system).
onnxruntime.disable_telemetry_events()

_ERRORS_ONLY = 3


def open_session(model: Path, *, threads: int = 0, disabled_optimizers: Sequence[str] = ()) -> Any:
    """An inference session of the model file on the CPU. ``threads``: for one run; 0 is one for each core."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(
        str(model),
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=list(disabled_optimizers),
    )


def import_with_runtime(package: str) -> Any:
    """Import a package that imports ONNX Runtime itself. Raises ``ImportError`` where it is not installed."""
    return importlib.import_module(package)


def quantize_to_int8(source: Path, target: Path, operators: Sequence[str], default_type: int) -> None:
    """Write the graph of ``source`` to ``target``, its weights as int8 per channel. Needs the package ``onnx``."""
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped]

    # The quantiser logs advice about optional pre-processing through the root logger; it does not apply to a
    # graph that is fused already.
    logging.disable(logging.WARNING)
    try:
        quantize_dynamic(
            source,
            target,
            op_types_to_quantize=list(operators),
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"DefaultTensorType": default_type},
        )
    finally:
        logging.disable(logging.NOTSET)
