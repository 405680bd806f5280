"""A notebook of many entries: how long searches, batches of claims and writes take.

    python -m tests.bench.notebook --entries 10000 --json

The entries are made here, five claims each, with vectors of their topics in place of the model's, so that filling
the notebook takes a minute. Queries and writes use the model. A write has 20 claims, without quotes; each
operation is called as a tool calls it, by itself. ``cpu`` are milliseconds of the whole process, the model's
threads included.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from tests.bench.command_line import command_line
from winnow.server.claims.records import Claim, Entry, claim_id, new_entry_id
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.claims.store import Change, Notebook
from winnow.server.commands.benchmarks.figures import percentiles, time_ms
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.commands.terminal.output import Json, print_json, report_errors
from winnow.server.commands.terminal.screen import Screen
from winnow.server.operations.knowledge import KnowledgeBase
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

EXAMPLES = "Examples: python -m tests.bench.notebook | python -m tests.bench.notebook --entries 1000 --json"
_CLAIMS, _CLAIMS_OF_A_WRITE, _BATCH = 5, 20, 50
_TOPICS, _NOISE = 200, 0.6
_PAGE = 1_000
# Words are made of three syllables; their frequencies fall with their rank, as those of a language do.
_SYLLABLES = tuple(f"{first}{second}" for first in "bcdfghjklmnprstvwz" for second in "aeiou")
_VOCABULARY = 5_000


def run(
    entries: Annotated[int, typer.Option("--entries", min=1, max=100_000, help="in the notebook")] = 10_000,
    calls: Annotated[int, typer.Option("--calls", min=1, max=10_000, help="of each operation")] = 100,
    as_json: Json = False,
) -> None:
    """Search, read and write a notebook that was made for it."""
    with report_errors(as_json=as_json), tempfile.TemporaryDirectory() as folder:
        settings = load_settings(store=Path(folder), graph="off", enable_writes=True)
        figures = asyncio.run(measure(settings, entries, calls))
    if as_json:
        print_json(figures)
    else:
        _show(figures)


async def measure(settings: Settings, entries: int, calls: int) -> dict[str, Any]:
    """Milliseconds of each operation, p50, p95 and p99, and of the processor on average."""
    choice = random.Random(1)
    kb = make_knowledge_base(settings, wait_for_model=True)
    try:
        await kb.open()
        model = kb.store().embedder.ready()
        made = fill(
            settings.store,
            Notebook(settings.project),
            entries,
            choice,
            (model.fingerprint, model.dimension) if model else None,
        )
        steps: Mapping[str, Callable[[], tuple[str, Mapping[str, Any]]]] = {
            "search, hybrid": lambda: ("claims.search", {"query": _query(choice), "mode": "hybrid"}),
            "search, semantic": lambda: ("claims.search", {"query": _query(choice), "mode": "semantic"}),
            "search, lexical": lambda: ("claims.search", {"query": _query(choice), "mode": "lexical"}),
            f"claims of {_BATCH} entries": lambda: (
                "claims.claims",
                {"entry_ids": choice.sample(made, min(_BATCH, len(made)))},
            ),
            f"write with {_CLAIMS_OF_A_WRITE} claims": lambda: ("claims.write", _entry_to_write(choice)),
        }
        times = {name: await _time(kb, step, calls) for name, step in steps.items()}
    finally:
        await kb.aclose()
    return {
        "entries": entries,
        "claims": _CLAIMS * entries,
        "calls": calls,
        "model": model.fingerprint if model else "",
        "ms": {name: {**percentiles(row), "cpu": round(cpu, 2)} for name, (row, cpu) in times.items()},
    }


def fill(
    store: Path, notebook: Notebook, count: int, choice: random.Random, model: tuple[str, int] | None
) -> list[str]:
    """Write entries into a store; their ids. ``model``: the fingerprint and dimension of the vectors."""
    filled = SqliteClaimStore(claims_path(store))
    centres = np.random.default_rng(1).standard_normal((_TOPICS, model[1] if model else 1))
    ids = []
    try:
        for first in range(0, count, _PAGE):
            entries = [_entry(notebook, number, choice) for number in range(first, min(first + _PAGE, count))]
            changes = [
                (
                    Change(
                        number, entry.id, "written", 1.0, entry.model_dump_json(exclude={"project", "owner"}), ""
                    ),
                    entry,
                )
                for number, entry in enumerate(entries, 1)
            ]
            filled.import_changes(notebook, changes)
            for number, entry in enumerate(entries, first):
                if model:
                    filled.save_vectors(entry.id, model[0], _vectors(entry, centres[number % _TOPICS], number))
            ids += [entry.id for entry in entries]
    finally:
        filled.close()
    return ids


def _entry(notebook: Notebook, number: int, choice: random.Random) -> Entry:
    id = new_entry_id()
    claims = tuple(Claim(id=claim_id(id, n), text=_sentence(choice)) for n in range(1, _CLAIMS + 1))
    return Entry(
        id=id,
        project=notebook.project,
        topic=f"area{number % 20}/topic{number % _TOPICS}",
        content=" ".join(claim.text for claim in claims),
        claims=claims,
        created_at=1.0,
        revised_at=1.0,
        next_claim=_CLAIMS + 1,
    )


def _vectors(entry: Entry, centre: Any, seed: int) -> list[tuple[str, bytes]]:
    """A vector near the centre of its topic for each claim."""
    rows = centre + _NOISE * np.random.default_rng(seed).standard_normal((len(entry.claims), len(centre)))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return [(claim.id, row.astype(np.float32).tobytes()) for claim, row in zip(entry.claims, rows, strict=True)]


def _sentence(choice: random.Random) -> str:
    first, verb, second, third = (_word(choice) for _ in range(4))
    return f"The {first} {verb}s the {second} of each {third} every {choice.randint(2, 90)} days."


def _word(choice: random.Random) -> str:
    """A word of the vocabulary, the first ones most often."""
    rank = int(_VOCABULARY ** choice.random())
    places = (rank // len(_SYLLABLES) ** place for place in range(2))
    return "".join(_SYLLABLES[7 * place % len(_SYLLABLES)] for place in places) + _SYLLABLES[rank % 3]


def _query(choice: random.Random) -> str:
    return " ".join(_word(choice) for _ in range(3))


def _entry_to_write(choice: random.Random) -> dict[str, Any]:
    claims = [{"text": _sentence(choice), "confidence": 0.8} for _ in range(_CLAIMS_OF_A_WRITE)]
    return {"topic": "area1/written", "claims": claims}


async def _time(
    kb: KnowledgeBase, step: Callable[[], tuple[str, Mapping[str, Any]]], calls: int
) -> tuple[Sequence[float], float]:
    """The milliseconds of each call, and those of the processor on average."""
    caller = kb.caller("bench")

    async def call() -> None:
        operation, arguments = step()
        await kb.call(operation, dict(arguments), caller)

    await call()
    began = time.process_time()
    times = [await time_ms(call) for _ in range(calls)]
    return times, (time.process_time() - began) * 1000 / calls


def _show(figures: Mapping[str, Any]) -> None:
    title = f"{figures['entries']:,} entries with {figures['claims']:,} claims, {figures['calls']} calls each"
    table = Table("", "p50", "p95", "p99", "cpu", title=title)
    for name, row in figures["ms"].items():
        table.add_row(name, *(f"{row[key]:.1f} ms" for key in ("p50", "p95", "p99", "cpu")))
    Screen(highlight=False).print(table)


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app()
