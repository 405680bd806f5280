"""Queries embed before an ingest does, and an ingest gives the vectors that it would give alone."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest

from server.backends.base import Embedder, ModelState, Vector
from server.backends.turns import QueriesFirst


class Lengths:
    """An embedder whose vectors say how long a text is; a query waits at the gate until it is opened."""

    fingerprint, dimension = "lengths", 1

    def __init__(self) -> None:
        self.handfuls: list[int] = []
        self.inside, self.gate = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> Vector:
        if list(texts) == ["query"]:
            self.inside.set()
            assert self.gate.wait(20)
        else:
            self.handfuls.append(len(texts))
        return np.array([[len(text)] for text in texts], dtype=np.float32)


class Loaded:
    """A source that is ready."""

    state: ModelState = "ready"
    why = ""

    def __init__(self, model: Embedder | None) -> None:
        self._model = model

    def ready(self) -> Embedder | None:
        return self._model

    wait = ready


def _nothing() -> None:
    """Go on."""


def test_an_ingest_embeds_by_handfuls_and_keeps_the_order() -> None:
    model = Lengths()
    patient = QueriesFirst(Loaded(model)).patient(_nothing)
    assert patient is not None
    texts = ["x" * (1 + number * 7 % 20) for number in range(20)]
    assert patient.embed(texts).tolist() == [[float(len(text))] for text in texts]
    assert (model.handfuls, patient.embed([]).shape) == ([8, 8, 4], (0, 1))


def test_an_ingest_begins_no_handful_while_a_query_is_embedded_unless_it_takes_too_long() -> None:
    model = Lengths()
    source = QueriesFirst(Loaded(model))
    urgent, patient = source.ready(), source.patient(_nothing)
    assert urgent is not None
    assert patient is not None
    query = threading.Thread(target=urgent.embed, args=(["query"],))
    query.start()
    assert model.inside.wait(20)
    ingest = threading.Thread(target=patient.embed, args=(["a", "b"],))
    ingest.start()
    assert model.handfuls == []
    ingest.join(20)  # queries without end hold it up for a quarter of a second
    assert model.handfuls == [2]
    model.gate.set()
    query.join(20)


def test_an_ingest_ends_between_two_handfuls() -> None:
    model = Lengths()

    def stop() -> None:
        if model.handfuls:
            raise InterruptedError

    patient = QueriesFirst(Loaded(model)).patient(stop)
    assert patient is not None
    with pytest.raises(InterruptedError):
        patient.embed(["x"] * 20)
    assert model.handfuls == [8]


def test_without_a_model_there_is_none_for_anybody() -> None:
    source = QueriesFirst(Loaded(None))
    assert (source.ready(), source.wait(), source.patient(_nothing)) == (None, None, None)
