"""The figures of a server as OpenMetrics text, for a collector. Pure: numbers and names, no foreign text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from server.runtime.metrics import BUCKETS

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

Sample = tuple[str, Mapping[str, Any], float]


def format_open_metrics(figures: Mapping[str, Any]) -> str:
    """Calls and how long they took, tokens, scripts, their queue, and caches; ``figures`` as at ``/health``."""
    families = (
        ("winnow_calls", "counter", "calls of tools, by how they ended", _calls(figures)),
        ("winnow_call_seconds", "histogram", "how long calls of tools took", _seconds(figures)),
        ("winnow_answer_tokens", "counter", "tokens of the answers of tools", _tokens(figures)),
        ("winnow_scripts", "counter", "scripts, by how they ended", _scripts(figures)),
        (
            "winnow_script_tokens_kept_out",
            "counter",
            "tokens that scripts kept to themselves",
            _kept_out(figures),
        ),
        ("winnow_queue_scripts", "gauge", "scripts that run or wait for a worker now", _queue(figures)),
        ("winnow_queue_wait_seconds", "summary", "how long scripts waited for a worker", _waits(figures)),
        (
            "winnow_cache_lookups",
            "counter",
            "lookups in caches, by their result",
            _caches(figures),
        ),
    )
    lines = [line for family in families for line in _family(*family)]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _family(name: str, kind: str, told: str, samples: Iterator[Sample]) -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    yield f"# HELP {name} {told}"
    for suffix, labels, value in samples:
        named = ",".join(f'{label}="{_escaped(str(text))}"' for label, text in labels.items())
        yield f"{name}{suffix}{{{named}}} {value:g}" if named else f"{name}{suffix} {value:g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _calls(figures: Mapping[str, Any]) -> Iterator[Sample]:
    for tool, calls in figures["calls"].items():
        for verdict, count in calls["verdicts"].items():
            yield "_total", {"tool": tool, "verdict": verdict}, count


def _seconds(figures: Mapping[str, Any]) -> Iterator[Sample]:
    for tool, calls in figures["calls"].items():
        reached = 0
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), calls["within"], strict=True):
            reached += count
            yield "_bucket", {"tool": tool, "le": bound}, reached
        yield "_count", {"tool": tool}, reached
        yield "_sum", {"tool": tool}, calls["seconds"]


def _tokens(figures: Mapping[str, Any]) -> Iterator[Sample]:
    for tool, answers in figures["answers"].items():
        yield "_total", {"tool": tool}, answers["tokens"]


def _scripts(figures: Mapping[str, Any]) -> Iterator[Sample]:
    for ending, count in figures["scripts"]["endings"].items():
        yield "_total", {"status": ending}, count


def _kept_out(figures: Mapping[str, Any]) -> Iterator[Sample]:
    yield "_total", {}, figures["scripts"]["tokens_kept_out"]


def _queue(figures: Mapping[str, Any]) -> Iterator[Sample]:
    for state in ("running", "waiting"):
        yield "", {"state": state}, figures["queue"][state]


def _waits(figures: Mapping[str, Any]) -> Iterator[Sample]:
    yield "_count", {}, figures["queue_waits"]["waits"]
    yield "_sum", {}, figures["queue_waits"]["seconds"]


def _caches(figures: Mapping[str, Any]) -> Iterator[Sample]:
    for name, counts in figures["caches"].items():
        yield "_total", {"cache": name, "result": "hit"}, counts["hits"]
        yield "_total", {"cache": name, "result": "miss"}, counts["misses"]
