"""Backends that may be away: circuits as a state machine, places, and which errors count."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from winnow.server.backends.vectors import qdrant
from winnow.server.errors import WinnowError
from winnow.server.runtime.deadlines import CallEnded, deadline_after, use_deadline
from winnow.server.runtime.remote import (
    FAILURES,
    FIRST_PAUSE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    PLACES,
    Circuit,
    RemoteBackend,
    backend_figures,
    remote_backend,
    spread,
)

AWAY = WinnowError("INDEX_UNAVAILABLE", "no route", retryable=True)


class Clock:
    """A clock that stands still until it is moved."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class CircuitMachine(RuleBasedStateMachine):
    """A circuit beside a plain model of it: calls begin and end in any order while time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.circuit = Circuit(self.clock, lambda seconds: seconds)
        self.running: list[bool] = []  # of each call that runs, whether it tries a backend that was away
        self.failures = 0
        self.until: float | None = None
        self.pause = 0.0

    @rule(seconds=st.sampled_from([0.1, 1.0, FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS]))
    def time_passes(self, seconds: float) -> None:
        self.clock.seconds += seconds

    @precondition(lambda self: len(self.running) < 6)
    @rule()
    def a_call_begins(self) -> None:
        wait = self.circuit.admit()
        if self.until is None:
            assert wait == 0
            self.running.append(False)
        elif self.clock.seconds >= self.until and not any(self.running):
            assert wait == 0
            self.running.append(True)
        else:
            assert 0 < wait <= LONGEST_PAUSE_SECONDS

    @precondition(lambda self: self.running and (self.until is None or self.running[0]))
    @rule()
    def a_call_succeeds(self) -> None:
        self.running.pop(0)
        self.circuit.succeed()
        self.failures, self.until, self.pause = 0, None, 0.0
        self.running = [False] * len(self.running)

    @precondition(lambda self: self.running and (self.until is None or self.running[0]))
    @rule()
    def a_call_fails(self) -> None:
        was_trying = self.running.pop(0)
        opened = self.circuit.fail("away")
        self.failures += 1
        assert opened == (was_trying or self.failures >= FAILURES)
        if opened:
            self.pause = min(2 * self.pause or FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
            self.until = self.clock.seconds + self.pause
            self.running = []

    @precondition(lambda self: self.running and (self.until is None or self.running[0]))
    @rule()
    def a_call_ends_without_a_word(self) -> None:
        self.running.pop(0)
        self.circuit.leave()

    @invariant()
    def the_state_is_that_of_the_model(self) -> None:
        if self.until is None:
            expected = "closed"
        else:
            expected = "half-open" if any(self.running) or self.clock.seconds >= self.until else "open"
        assert self.circuit.state == expected


CircuitMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestCircuit = CircuitMachine.TestCase


def test_pauses_are_spread() -> None:
    pauses = {spread(10.0) for _ in range(50)}
    assert len(pauses) > 10
    assert all(10.0 <= pause <= 12.0 for pause in pauses)


def backend(places: int = PLACES) -> tuple[RemoteBackend, Clock]:
    clock = Clock()
    circuit = Circuit(clock, lambda seconds: seconds)
    return RemoteBackend("test", "the store", "INDEX_UNAVAILABLE", circuit=circuit, places=places), clock


def fail(remote: RemoteBackend, error: BaseException = AWAY) -> WinnowError | None:
    """Call a backend that fails with this error; the error of the call, None for another kind."""
    try:
        with remote.call():
            raise error
    except WinnowError as caught:
        return caught
    except BaseException:
        return None


def test_a_dead_backend_is_refused_at_once_and_says_when_it_is_asked_again() -> None:
    remote, clock = backend()
    for _ in range(FAILURES):
        assert fail(remote) is AWAY
    refused = fail(remote)
    assert refused is not None
    assert (refused.reason, refused.retryable, refused.retry_after_s) == ("INDEX_UNAVAILABLE", True, 5.0)
    assert "no route" in refused.message
    clock.seconds += FIRST_PAUSE_SECONDS
    assert fail(remote) is AWAY  # one call tries it
    assert fail(remote) is not AWAY
    clock.seconds += 2 * FIRST_PAUSE_SECONDS
    with remote.call():
        assert remote.figures()["state"] == "half-open"
    assert remote.figures()["state"] == "closed"
    assert (remote.figures()["opened"], remote.figures()["refused"]) == (1, 2)


@pytest.mark.parametrize(
    "error",
    [
        WinnowError("INDEX_UNAVAILABLE", "the request is refused"),
        WinnowError("TIMEOUT", "the query took too long", retryable=True),
        WinnowError("INVALID_REQUEST", "no such filter"),
        CallEnded(),
        KeyboardInterrupt(),
        ValueError("a bug"),
    ],
)
def test_what_is_not_a_backends_absence_opens_no_circuit(error: BaseException) -> None:
    remote, _ = backend()
    for _ in range(3 * FAILURES):
        fail(remote, error)
    assert remote.figures()["state"] == "closed"


def test_failures_that_are_not_in_a_row_open_no_circuit() -> None:
    remote, _ = backend()
    for _ in range(3 * FAILURES):
        fail(remote)
        with remote.call():
            pass
    assert remote.figures()["state"] == "closed"


def test_calls_beyond_the_places_wait_for_one_within_their_time() -> None:
    remote, _ = backend(places=2)
    held, go_on = threading.Semaphore(0), threading.Event()

    def hold() -> None:
        with remote.call():
            held.release()
            assert go_on.wait(60)

    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(hold) for _ in range(2)]
        for _ in calls:
            assert held.acquire(timeout=60)
        with use_deadline(deadline_after(0.05)), pytest.raises(CallEnded), remote.call():
            pass
        third = pool.submit(hold)
        go_on.set()
        for call in (*calls, third):
            call.result(60)
    figures = remote.figures()
    assert (figures["running"], figures["waiting"], figures["queued"] >= 1) == (0, 0, True)


def test_clients_of_one_address_share_its_circuit() -> None:
    first, second = (remote_backend("shared", "the store at a", "INDEX_UNAVAILABLE") for _ in range(2))
    other = remote_backend("shared", "the store at b", "INDEX_UNAVAILABLE")
    for _ in range(FAILURES):
        fail(first)
    refused = fail(second)
    assert refused is not None
    assert refused.retry_after_s is not None
    assert fail(other) is AWAY
    assert backend_figures()["shared"]["state"] == "open"


def test_a_server_of_vectors_that_hangs_at_opening_is_left_alone_after_three_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(qdrant, "_TIMEOUT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as hanging:  # the kernel accepts, and nothing answers
        url = f"http://127.0.0.1:{hanging.getsockname()[1]}"
        circuit = remote_backend(
            "qdrant", f"the Qdrant server at {qdrant.Address(url)}", "INDEX_UNAVAILABLE"
        ).circuit
        seen = []
        for _ in range(FAILURES + 1):
            with pytest.raises(WinnowError) as caught:
                qdrant.QdrantStore(url, 2)
            seen.append((caught.value.reason, caught.value.retry_after_s is not None, circuit.state))
    waiting = ("INDEX_UNAVAILABLE", False, "closed")
    assert seen == [waiting] * (FAILURES - 1) + [
        ("INDEX_UNAVAILABLE", is_told, "open") for is_told in (False, True)
    ]
