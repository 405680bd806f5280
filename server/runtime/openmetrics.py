"""A server's metrics as OpenMetrics text. Numbers and names only, no text of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from server.runtime.metrics import BUCKETS

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

Sample = tuple[str, Mapping[str, Any], float]


def format_open_metrics(metrics: Mapping[str, Any]) -> str:
    """Format calls, durations, tokens, scripts, their queue and caches; ``metrics`` as at ``/health``."""
    families = (
        ("winnow_calls", "counter", "calls of tools, by how they ended", _calls(metrics)),
        ("winnow_call_seconds", "histogram", "how long calls of tools took", _seconds(metrics)),
        ("winnow_answer_tokens", "counter", "tokens of the answers of tools", _tokens(metrics)),
        ("winnow_scripts", "counter", "scripts, by how they ended", _scripts(metrics)),
        (
            "winnow_script_tokens_kept_out",
            "counter",
            "tokens that scripts kept to themselves",
            _kept_out(metrics),
        ),
        ("winnow_queue_scripts", "gauge", "scripts that run or wait for a worker now", _queue(metrics)),
        ("winnow_queue_wait_seconds", "summary", "how long scripts waited for a worker", _waits(metrics)),
        (
            "winnow_cache_lookups",
            "counter",
            "lookups in caches, by their result",
            _caches(metrics),
        ),
    )
    lines = [line for family in families for line in _family(*family)]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _family(name: str, kind: str, help_text: str, samples: Iterator[Sample]) -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    yield f"# HELP {name} {help_text}"
    for suffix, labels, value in samples:
        label_text = ",".join(f'{label}="{_escape(str(text))}"' for label, text in labels.items())
        yield f"{name}{suffix}{{{label_text}}} {value:g}" if label_text else f"{name}{suffix} {value:g}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _calls(metrics: Mapping[str, Any]) -> Iterator[Sample]:
    for tool, calls in metrics["calls"].items():
        for verdict, count in calls["verdicts"].items():
            yield "_total", {"tool": tool, "verdict": verdict}, count


def _seconds(metrics: Mapping[str, Any]) -> Iterator[Sample]:
    for tool, calls in metrics["calls"].items():
        cumulative = 0
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), calls["within"], strict=True):
            cumulative += count
            yield "_bucket", {"tool": tool, "le": bound}, cumulative
        yield "_count", {"tool": tool}, cumulative
        yield "_sum", {"tool": tool}, calls["seconds"]


def _tokens(metrics: Mapping[str, Any]) -> Iterator[Sample]:
    for tool, answers in metrics["answers"].items():
        yield "_total", {"tool": tool}, answers["tokens"]


def _scripts(metrics: Mapping[str, Any]) -> Iterator[Sample]:
    for ending, count in metrics["scripts"]["endings"].items():
        yield "_total", {"status": ending}, count


def _kept_out(metrics: Mapping[str, Any]) -> Iterator[Sample]:
    yield "_total", {}, metrics["scripts"]["tokens_kept_out"]


def _queue(metrics: Mapping[str, Any]) -> Iterator[Sample]:
    for state in ("running", "waiting"):
        yield "", {"state": state}, metrics["queue"][state]


def _waits(metrics: Mapping[str, Any]) -> Iterator[Sample]:
    yield "_count", {}, metrics["queue_waits"]["waits"]
    yield "_sum", {}, metrics["queue_waits"]["seconds"]


def _caches(metrics: Mapping[str, Any]) -> Iterator[Sample]:
    for name, counts in metrics["caches"].items():
        yield "_total", {"cache": name, "result": "hit"}, counts["hits"]
        yield "_total", {"cache": name, "result": "miss"}, counts["misses"]
