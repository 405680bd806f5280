"""The embedding model: the published vectors, deterministic, and a clear error where the model is missing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from winnow.server.backends.models.embedders import LazyEmbedder, load_model
from winnow.server.backends.models.installed import table, weights
from winnow.server.backends.models.installed.loading import model_folder
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import Embedder

CARRIER = weights.find_installed_carrier()
needs_weights = pytest.mark.skipif(
    CARRIER is None, reason=f"the package {table.CARRIER.requirement} is not installed"
)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def model(models: Path) -> Embedder:
    return load_model(models)


@needs_weights
def test_vectors_are_the_published_ones_up_to_int8(model: Embedder) -> None:
    # The first numbers of the float32 vectors on the model's own page.
    published = np.array(
        [[0.0676569, 0.0634959, 0.0487131, 0.0793050], [0.0864386, 0.1027626, 0.0053945, 0.0020445]]
    )
    vectors = model.embed(["This is an example sentence", "Each sentence is converted"])
    assert vectors.shape == (2, model.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert np.abs(vectors[:, :4] - published).max() < 0.02


@needs_weights
def test_a_text_has_the_same_vector_in_any_company(model: Embedder) -> None:
    texts = ["short", "a longer text about proxies and gateways " * 9, "", "naïve 東京", "x" * 5000]
    together, alone = model.embed(texts), np.stack([model.embed([text])[0] for text in texts])
    assert np.array_equal(together, alone)
    assert np.array_equal(model.embed(texts[::-1]), together[::-1])


@needs_weights
def test_text_beyond_the_window_does_not_reach_the_vector(model: Embedder) -> None:
    one, two = model.embed(["word " * 400 + "proxy", "word " * 400 + "backup"])
    assert np.array_equal(one, two)


@needs_weights
def test_meaning_is_nearer_than_words(model: Embedder) -> None:
    query, near, far = model.embed(
        ["How do I reset my password?", "Recovering access to an account", "The cat sleeps"]
    )
    assert query @ near > query @ far + 0.2


@needs_weights
def test_no_texts_are_no_vectors(model: Embedder) -> None:
    assert model.embed([]).shape == (0, 384)


@needs_weights
def test_several_threads_may_embed(model: Embedder) -> None:
    texts = [f"text number {n}" for n in range(24)]
    with ThreadPoolExecutor(4) as threads:
        rows = list(threads.map(lambda text: model.embed([text])[0], texts))
    assert np.array_equal(np.stack(rows), model.embed(texts))


@needs_weights
def test_two_conversions_at_once_end_in_one_whole_model(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        one, two = threads.map(load_model, [tmp_path] * 2)
    assert np.array_equal(one.embed(["proxy"]), two.embed(["proxy"]))
    assert len(list(tmp_path.iterdir())) == 1


@needs_weights
def test_the_model_loads_in_the_background_and_is_then_ready(models: Path) -> None:
    embedder = LazyEmbedder(load_settings(models=models))
    assert embedder.state == "loading"
    assert embedder.wait() is not None
    assert (embedder.state, embedder.why, embedder.ready() is not None) == ("ready", "", True)


def test_a_model_that_is_switched_off_is_off_at_once(tmp_path: Path) -> None:
    embedder = LazyEmbedder(load_settings(models=tmp_path, embedding="off"))
    assert (embedder.state, embedder.ready(), embedder.wait()) == ("off", None, None)
    assert "switched off" in embedder.why


def test_a_missing_model_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])  # as on a machine without the carrier
    embedder = LazyEmbedder(load_settings(models=tmp_path))
    assert embedder.wait() is None
    assert (embedder.state, "winnow model install" in embedder.why) == ("missing", True)


def test_files_that_are_not_the_published_ones_are_refused(tmp_path: Path) -> None:
    for name in table.DEFAULT.sha256:
        (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(WinnowError, match="not the published file"):
        weights.check(tmp_path)


def test_a_model_that_does_not_load_is_missing_and_not_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [])  # as on a machine without the carrier
    model_folder(tmp_path).mkdir()
    embedder = LazyEmbedder(load_settings(models=tmp_path))
    assert embedder.wait() is None
    assert (embedder.state, "does not load" in embedder.why) == ("missing", True)
    assert "winnow model install" in embedder.why


@needs_weights
@pytest.mark.parametrize("is_retryable", [False, True])
def test_a_model_that_did_not_load_once_is_tried_again_after_a_while(
    is_retryable: bool, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, attempts = [1000.0], []

    def load(settings: Settings) -> Embedder:
        attempts.append(now[0])
        if len(attempts) > 3:
            return load_model(models)
        if is_retryable:
            raise WinnowError("MODEL_UNAVAILABLE", "the disk is full", retryable=True)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("winnow.server.backends.models.embedders.load_embedder", load)
    monkeypatch.setattr("winnow.server.backends.models.embedders.time.monotonic", lambda: now[0])
    embedder = LazyEmbedder(load_settings(models=tmp_path))
    assert embedder.wait() is None
    for _ in range(400):
        now[0] += 1.0
        embedder.start()
        assert embedder._thread
        embedder._thread.join()
    assert [at - 1000 for at in attempts] == [0, 30, 90, 210]
    assert (embedder.state, embedder.why, embedder.ready() is not None) == ("ready", "", True)


def test_a_model_that_never_loads_is_tried_less_and_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [])
    now, attempts = [1000.0], []
    embedder = LazyEmbedder(load_settings(models=tmp_path))
    monkeypatch.setattr("winnow.server.backends.models.embedders.time.monotonic", lambda: now[0])
    for _ in range(720):
        former = embedder._thread
        embedder.start()
        assert embedder._thread
        embedder._thread.join()
        attempts += [now[0]] if embedder._thread is not former else []
        now[0] += 5.0
    assert (embedder.state, 8 <= len(attempts) <= 11) == ("missing", True)
    assert attempts[-1] - attempts[-2] >= 600
