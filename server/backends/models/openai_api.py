"""Vectors from an endpoint that speaks OpenAI's /v1/embeddings: a service, or a server of the user's own.

The address comes from the operator's settings, never from a call. Texts leave the machine for it. Failed
requests are retried with growing pauses; a query, whose caller waits, at most once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import httpx
import numpy as np

from winnow.server.backends.models.embedding_scheduler import FEW
from winnow.server.backends.models.named_embedder import ANSWERS, QUESTIONS, NamedEmbedder
from winnow.server.errors import WinnowError
from winnow.server.runtime.deadlines import Deadline, current_deadline
from winnow.server.runtime.remote import remote_backend
from winnow.server.settings.addresses import Address
from winnow.server.storage.base import Vector

# Texts in one request: an ingest's portion; services admit 96 to 2,048.
AT_ONCE = 64
_CONNECT_SECONDS, _ANSWER_SECONDS = 5.0, 60.0
# A search may take 15 s in all, and answers by words where this takes longer.
_QUERY_SECONDS = 5.0
_ATTEMPTS, _QUERY_ATTEMPTS = 6, 2
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 30.0
# Busy or briefly failing; every other status is final.
_RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class OpenAIEndpoint(NamedEmbedder):
    """The model ``model`` behind ``url`` (its base, such as http://localhost:11434/v1). Safe in several threads.

    ``pause_seconds`` is the first pause between attempts; each further one is twice as long. Raises
    ``WinnowError("MODEL_UNAVAILABLE")`` where the endpoint does not answer, or not with vectors.
    """

    def __init__(
        self, url: str, model: str, key: str | None, *, pause_seconds: float = _FIRST_PAUSE_SECONDS
    ) -> None:
        super().__init__(model)
        base = url.rstrip("/")
        self._address = Address(base if base.endswith("/embeddings") else f"{base}/embeddings")
        self._remote = remote_backend("embedder", f"the embedding endpoint {self._address}", "MODEL_UNAVAILABLE")
        self._pause_seconds = pause_seconds
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(headers=headers)
        self._dimension = 0
        vectors = self._request((*QUESTIONS, *ANSWERS))
        self._measure(vectors[: len(QUESTIONS)], vectors[len(QUESTIONS) :])
        self._fingerprint = f"openai/{model}/{self._dimension}"  # an endpoint tells no revision

    def _embed_texts(self, texts: Sequence[str]) -> Vector:
        return np.concatenate([self._ask(texts[at : at + AT_ONCE]) for at in range(0, len(texts), AT_ONCE)])

    def _ask(self, texts: Sequence[str]) -> Vector:
        with self._remote.call():
            return self._request(texts)

    def _request(self, texts: Sequence[str]) -> Vector:
        is_query, deadline = len(texts) <= FEW, current_deadline()
        attempts = _QUERY_ATTEMPTS if is_query else _ATTEMPTS
        for attempt in range(attempts):
            deadline.check()
            try:
                answer = self._client.post(
                    self._address.whole,
                    # Some services refuse an empty text.
                    json={
                        "model": self._name,
                        "input": [text or " " for text in texts],
                        "encoding_format": "float",
                    },
                    timeout=_timeout(deadline, is_query=is_query),
                )
            except httpx.HTTPError as error:
                reason, pause = f"{type(error).__name__}: {error}", 0.0
            else:
                if answer.status_code == httpx.codes.OK:
                    return self._vectors(answer, len(texts))
                reason, pause = f"{answer.status_code} {answer.reason_phrase}", _requested_pause(answer)
                if answer.status_code not in _RETRYABLE:
                    raise self._unavailable(reason, is_retryable=False)
            if attempt + 1 < attempts:
                time.sleep(deadline.at_most(_pause(self._pause_seconds, attempt, pause, is_query=is_query)))
        raise self._unavailable(reason, is_retryable=True)

    def _vectors(self, answer: httpx.Response, count: int) -> Vector:
        try:
            rows = sorted(answer.json()["data"], key=lambda row: int(row["index"]))
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise self._unavailable(f"an answer without vectors ({error})", is_retryable=False) from None
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
        expected = (count, self._dimension or vectors.shape[-1])
        if vectors.shape != expected or not np.isfinite(lengths).all() or not lengths.all():
            raise self._unavailable(f"vectors of shape {vectors.shape}, not {expected}", is_retryable=False)
        return np.asarray(vectors / lengths, dtype=np.float32)

    def _unavailable(self, reason: str, *, is_retryable: bool) -> WinnowError:
        return WinnowError(
            "MODEL_UNAVAILABLE",
            f"the embedding endpoint {self._address} (model {self._name}) answers "
            f"{self._address.without_credentials(reason)}; "
            "check the settings embedder and embedder_key",
            retryable=is_retryable,
        )


def _timeout(deadline: Deadline, *, is_query: bool) -> httpx.Timeout:
    answer = deadline.at_most(_QUERY_SECONDS if is_query else _ANSWER_SECONDS)
    return httpx.Timeout(answer, connect=deadline.at_most(_CONNECT_SECONDS))


def _requested_pause(answer: httpx.Response) -> float:
    try:
        return float(answer.headers.get("retry-after", 0.0))
    except ValueError:  # a date
        return 0.0


def _pause(first: float, attempt: int, wanted: float, *, is_query: bool) -> float:
    """Seconds until the next attempt, spread so that several callers do not come back together."""
    if is_query:
        return first
    longer: float = first * 2**attempt * random.uniform(1.0, 1.5)
    return min(max(wanted, longer), _LONGEST_PAUSE_SECONDS)
