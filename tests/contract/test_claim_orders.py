"""Every order of writes, verdicts, evidence, revisions and ingests leaves what a fresh computation finds."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.claim_orders import NotebookOrders, SharedStore


def test_both_sides_of_every_pair_are_what_a_fresh_computation_finds(tmp_path: Path) -> None:
    with closing(SharedStore(tmp_path)) as shared:
        machine = type("Orders", (NotebookOrders,), {"shared": shared})
        few = settings(settings.default, max_examples=6, stateful_step_count=12)
        run_state_machine_as_test(machine, settings=few)  # type: ignore[no-untyped-call]
