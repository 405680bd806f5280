"""Natural language inference with a model from the user's folder, on ONNX Runtime: do two claims contradict?

The folder holds ``model.onnx``, ``tokenizer.json`` and ``config.json``, as hubs publish cross-encoders for this
task. ``id2label`` in the configuration names the model's logits in their order: contradiction, entailment and
neutral, in any order. Nothing is downloaded.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from winnow.server.backends.models.cross_encoder import PairModel
from winnow.server.backends.models.model_identity import nli_identity
from winnow.server.errors import WinnowError
from winnow.server.runtime.deadlines import NEVER, use_deadline
from winnow.server.text.printable import one_line

_CONFIGURATION = "config.json"
_MAX_BYTES = 1 << 20
_NAME_CHARS = 60
_CONTRADICTION = "contradiction"
_LABELS = [_CONTRADICTION, "entailment", "neutral"]


class EntailmentModel:
    """The loaded model. Safe to call from several threads. ``name`` is that of its folder, "@" and a digest.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` where the folder holds no usable model.
    """

    def __init__(self, folder: Path) -> None:
        self._contradiction = _read_labels(folder).index(_CONTRADICTION)
        self._model = PairModel(folder, "model for nli_model", "longest_first")
        self.name = f"{one_line(folder.resolve().name)[:_NAME_CHARS]}@{nli_identity(folder)}"
        with use_deadline(NEVER):  # a model that took long to load is kept for the next call
            self.contradiction("one", "other")  # one without three logits is refused here

    def contradiction(self, one: str, other: str) -> float:
        """The probability that two texts contradict each other, 0 to 1: the lower value of both directions.

        Raises ``WinnowError("MODEL_UNAVAILABLE")`` where the model does not give a number for each label.
        """
        logits = self._model.logits([(one, other), (other, one)])
        if logits.shape != (2, len(_LABELS)) or not np.isfinite(logits).all():
            raise WinnowError(
                "MODEL_UNAVAILABLE", "nli_model: the model gives other than three numbers for two texts"
            )
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return float((shares / shares.sum(axis=1, keepdims=True))[:, self._contradiction].min())


def _read_labels(folder: Path) -> list[str]:
    """The labels of the model's logits, in their order."""
    try:
        with (folder / _CONFIGURATION).open("rb") as file:
            named = json.loads(file.read(_MAX_BYTES))["id2label"]
        labels = [str(named[str(place)]).casefold() for place in range(len(named))]
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise _no_labels(folder) from error
    if sorted(labels) != _LABELS:
        raise _no_labels(folder)
    return labels


def _no_labels(folder: Path) -> WinnowError:
    names = ", ".join(_LABELS)
    return WinnowError(
        "MODEL_UNAVAILABLE",
        f"{folder / _CONFIGURATION} has other labels in id2label than {names}",
    )
