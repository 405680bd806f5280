"""kb.scan beside a plain Python program over the same files: the same matches, how fast, in how much memory.

    python -m tests.bench.scan --from docs/ --json

Ingests the files without a model, looks for twenty-one patterns, and compares counts, documents and offsets with
what ``re`` finds in each file. With ``--store`` and without ``--from`` it only measures a store that exists.

    python -m tests.bench.scan --from docs/ --passages 1000000 --store /tmp/large --rounds 5 --json

Repeats the files under other paths until there are so many passages, and looks for other patterns, from one match
to a million; a store that has them already is only measured.
"""

from __future__ import annotations

import asyncio
import re
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from tests.bench.command_line import command_line
from tests.bench.repeated_store import build_store
from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.commands.terminal.output import Json, ProjectOption, StoreOption, print_json, report_errors
from winnow.server.commands.terminal.screen import Screen
from winnow.server.errors import WinnowError
from winnow.server.jobs.target import target_of
from winnow.server.operations.knowledge import SCRIPT, KnowledgeBase
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

EXAMPLES = (
    "Examples: python -m tests.bench.scan --from docs/ | "
    "python -m tests.bench.scan --store /tmp/scale --project scale --rounds 5 --json | "
    "python -m tests.bench.scan --from docs/ --passages 1000000 --store /tmp/large --rounds 5"
)
PATTERNS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        r"--dry-run\b": {"group_by": "document"},
        "PodDisruptionBudget": {"literal": True},
        r"v1\.\d+": {"group_by": "match"},
        r"(?i)defaults? to (\S+)": {},
        r"(?i)defaults? to (\w+)": {"group_by": "1"},
        r"\b[A-Z]+_[A-Z_]+\b": {"group_by": "match"},
        r"https?://[\w.-]+": {"group_by": "match"},
        r"(?m)^#+ (.+)$": {},
        r"(?m)^apiVersion: (\S+)": {"group_by": "1"},
        r"kubectl (get|apply|delete|describe)\b": {"group_by": "1"},
        "etcd": {"word": True, "case": False},
        r"(?i)\bdeprecated\b": {"group_by": "section"},
        r"\d+ (seconds|minutes|hours)": {},
        r"--[a-z]+(?:-[a-z]+)+": {"group_by": "folder"},
        r"`[^`\n]+`": {"group_by": "document"},
        r"\b\d{1,3}(?:\.\d{1,3}){3}\b": {},
        "TODO": {"literal": True},
        r"[^\x00-\x7f]+": {},
        r"(?s)```yaml\n(.*?)```": {"group_by": "document"},
        "StatefulSet": {"literal": True, "group_by": "document"},
        "no such text anywhere": {"literal": True},
    }
)
# For a store of copies: what one document has, what one copy has, what few have, and what nearly all have.
LARGE_PATTERNS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "no such text anywhere": {"literal": True},
        "is copy 0007 of": {"literal": True, "limit": 1},
        r"(?i)This is COPY 0003 of (tasks\S+)": {},
        r"is copy 000[12] of \w+": {"group_by": "folder"},
        r"etcdctl snapshot (save|restore)": {"group_by": "1"},
        "PodDisruptionBudget": {"literal": True, "group_by": "document"},
        "etcd": {"word": True, "case": False},
        r"--dry-run\b": {"group_by": "document"},
        r"kubectl (get|apply|delete|describe)\b": {"group_by": "1"},
        r"\b\d{1,3}(?:\.\d{1,3}){3}\b": {},
        r"(?m)^#+ (.+)$": {},
        r"`[^`\n]+`": {"group_by": "document"},
    }
)
_FEW, _MANY = "no such text anywhere", "e"
_MIB = 1024 * 1024


def run(
    source: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="Markdown files to ingest and to compare with")
    ] = None,
    passages: Annotated[
        int, typer.Option("--passages", min=0, max=10_000_000, help="repeat the files up to so many passages")
    ] = 0,
    rounds: Annotated[int, typer.Option("--rounds", min=1, max=1_000, help="how often each pattern")] = 20,
    store: StoreOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
) -> None:
    """Scans of a store: milliseconds, memory, and whether a plain program finds the same."""
    with report_errors(as_json=as_json), tempfile.TemporaryDirectory() as folder:
        if source is None and store is None:
            raise WinnowError("INVALID_REQUEST", "give --from, --store or both")
        settings = load_settings(store=store or folder, project=project, embedding="off", graph="off")
        if source is not None and passages:
            _build_apart(settings, source, passages)
        elif source is not None:
            _ingest(settings, source)
        figures = asyncio.run(_measure(settings, None if passages else source, rounds, is_large=passages > 0))
    if as_json:
        print_json(figures)
    else:
        _show_figures(figures)


def _build_apart(settings: Settings, source: Path, passages: int) -> None:
    """Build the store in another process: the peak of memory of this one is measured."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(build_store, settings, source, passages).result()


def _ingest(settings: Settings, source: Path) -> None:
    backends = open_backends(settings, wait_for_model=False)
    try:
        ingest_paths(target_of(settings, backends, None), [source])
    finally:
        backends.close()


async def _measure(
    settings: Settings, source: Path | None, rounds: int, *, is_large: bool = False
) -> dict[str, Any]:
    patterns = LARGE_PATTERNS if is_large else PATTERNS
    kb = make_knowledge_base(settings, wait_for_model=False)
    try:
        await kb.open()
        size = await _ask(kb, "kb.count")
        growth = await _memory_growth(kb)
        rows = [await _measure_pattern(kb, pattern, options, rounds) for pattern, options in patterns.items()]
        differences = None if source is None else await _count_differences(kb, source)
    finally:
        await kb.aclose()
    times = [taken for row in rows for taken in row.pop("times")]
    return {
        "documents": size["documents"],
        "passages": size["passages"],
        "ms": _summarize(times),
        "patterns": rows,
        "memory": growth,
        "differences": differences,
    }


async def _ask(kb: KnowledgeBase, operation: str, **arguments: Any) -> dict[str, Any]:
    return (await kb.call(operation, arguments, kb.caller("bench", SCRIPT, "bench"))).payload


async def _measure_pattern(
    kb: KnowledgeBase, pattern: str, options: Mapping[str, Any], rounds: int
) -> dict[str, Any]:
    times = []
    for _ in range(rounds):
        started, spent = time.perf_counter(), time.process_time()
        page = await _ask(kb, "kb.scan", pattern=pattern, **options)
        times.append(((time.perf_counter() - started) * 1000, (time.process_time() - spent) * 1000))
    facts = {"pattern": pattern, **page["total"], "complete": page["complete"], "ms": _summarize(times)}
    return {**facts, "times": times}


def _summarize(times: list[tuple[float, float]]) -> dict[str, float]:
    """Milliseconds by the clock, and of the processor, which other programs on the machine change less."""
    wall, processor = (sorted(column) for column in zip(*times, strict=True))
    last = min(len(wall) - 1, int(0.95 * len(wall)))
    return {
        "p50": round(statistics.median(wall), 1),
        "p95": round(wall[last], 1),
        "processor_p50": round(statistics.median(processor), 1),
        "processor_p95": round(processor[last], 1),
    }


async def _memory_growth(kb: KnowledgeBase) -> dict[str, float]:
    """By how much the peak of memory grows from a scan without matches to one with very many."""
    await _ask(kb, "kb.scan", pattern=_FEW, literal=True, limit=1)
    before = _peak()
    page = await _ask(kb, "kb.scan", pattern=_MANY, literal=True, limit=1)
    return {
        "matches": page["total"]["matches"],
        "grown_mib": round((_peak() - before) / _MIB, 1),
        "peak_mib": round(_peak() / _MIB, 1),
    }


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def _count_differences(kb: KnowledgeBase, source: Path) -> int:
    """How many matches only one of the two finds, over all patterns."""
    texts = {str(path.relative_to(source)): _read(path) for path in sorted(source.rglob("*.md"))}
    count = 0
    for pattern, options in PATTERNS.items():
        kept = {name: value for name, value in options.items() if name != "group_by"}
        found = {
            (row["file"], row["start"], row["end"]) async for row in _iterate_rows(kb, pattern=pattern, **kept)
        }
        plain = _compile(pattern, kept)
        expected = {(file, *match.span()) for file, text in texts.items() for match in plain.finditer(text)}
        count += len(found ^ expected)
    return count


async def _iterate_rows(kb: KnowledgeBase, **arguments: Any) -> Any:
    while True:
        page = await _ask(kb, "kb.scan", limit=10_000, context=0, **arguments)
        for row in page["results"]:
            yield row
        if page["next_cursor"] is None:
            return
        arguments["cursor"] = page["next_cursor"]


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def _compile(pattern: str, options: Mapping[str, Any]) -> re.Pattern[str]:
    plain = re.escape(pattern) if options.get("literal") else pattern
    whole = rf"(?<!\w)(?:{plain})(?!\w)" if options.get("word") else plain
    return re.compile(whole, 0 if options.get("case", True) else re.IGNORECASE)


def _show_figures(figures: Mapping[str, Any]) -> None:
    table = Table("pattern", "matches", "passages", "documents", "p50 ms", "p95 ms", "processor ms")
    for cells in _rows_of(figures):
        table.add_row(*cells)
    screen = Screen()
    screen.print(table)
    memory, total = figures["memory"], figures["ms"]
    screen.print(
        f"{figures['passages']:,} passages of {figures['documents']:,} documents: p50 {total['p50']} ms, p95 "
        f"{total['p95']} ms; {memory['matches']:,} matches grew memory by {memory['grown_mib']} MiB to "
        f"{memory['peak_mib']} MiB; differences from a plain program: {figures['differences']}"
    )


def _rows_of(figures: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for row in figures["patterns"]:
        counts = (f"{row[name]:,}" for name in ("matches", "passages", "documents"))
        yield escape(row["pattern"]), *counts, *(str(row["ms"][name]) for name in ("p50", "p95", "processor_p50"))


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app()
