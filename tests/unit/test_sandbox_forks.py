"""The parent's choice between spinning and sleeping, and what the figures of a dead child say."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow.sandbox.runners import fork_server, spin_policy
from winnow.sandbox.runners.runner import ChildDeath
from winnow.sandbox.runners.spin_policy import SpinPolicy

pytestmark = pytest.mark.both_users


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spin_policy, "_SEVERAL_PROCESSORS", True)


@pytest.fixture
def policy() -> Iterator[SpinPolicy]:
    """The policy of a child in conversation."""
    made = SpinPolicy()
    made.begin()
    yield made
    made.end()


def test_the_parent_spins_for_a_child_that_was_quick_and_not_for_a_slow_one(
    policy: SpinPolicy,
) -> None:
    verdicts = [policy.should_spin()]
    for seconds in (100e-6, 5.0, 100e-6):
        policy.record_latency(seconds)
        verdicts.append(policy.should_spin())
    assert verdicts == [False, True, False, True]


def test_after_a_timeout_it_sleeps_for_a_while(policy: SpinPolicy) -> None:
    policy.record_latency(100e-6)
    policy.record_timeout()
    rested = 0
    while not policy.should_spin():
        policy.record_latency(100e-6)
        rested += 1
    assert rested == 16


def test_on_one_processor_it_never_keeps_the_child_from_running(
    policy: SpinPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spin_policy, "_SEVERAL_PROCESSORS", False)
    policy.record_latency(1e-6)
    assert policy.should_spin() is False


def test_it_sleeps_while_other_children_are_in_conversation(policy: SpinPolicy) -> None:
    policy.record_latency(100e-6)
    other = SpinPolicy()
    other.begin()
    in_company = policy.should_spin()
    other.end()
    assert (in_company, policy.should_spin()) == (False, True)


async def _memory_of_a_dead_child(page: Path) -> int:
    ours, theirs = socket.socketpair()
    with theirs:
        child = fork_server.ForkedChild(ours, asyncio.get_running_loop())
        number = child._memory = os.open(page, os.O_RDONLY)
        first = child.resident_bytes()
        child.kill()
        with page.open() as another:
            os.dup2(another.fileno(), number)
            second = child.resident_bytes()
            os.close(number)
        return first + second


def test_of_a_child_that_is_dead_nothing_is_read_from_a_number_that_is_another_files(tmp_path: Path) -> None:
    page = tmp_path / "status"
    page.write_text("VmHWM:\t 9 kB\nVmRSS:\t 3 kB\nVmPTE:\t 1 kB\n", "ascii")
    assert asyncio.run(_memory_of_a_dead_child(page)) == 4 * 1024


@pytest.mark.parametrize(
    ("number", "cpu_ms", "expected"),
    [
        (signal.SIGKILL, 990, True),
        (signal.SIGKILL, 600, True),  # it shared its processor: the kernel counts whole ticks
        (signal.SIGKILL, 300, False),
        (signal.SIGSEGV, 600, False),
        (signal.SIGUSR1, 600, False),
        (0, 600, False),
        (0, 1000, True),
    ],
)
def test_a_killed_child_that_used_half_of_its_processor_time_used_it_up(
    number: int, cpu_ms: float, expected: bool
) -> None:
    assert ChildDeath(number, cpu_ms, 0).is_by_cpu_limit(1) == expected
