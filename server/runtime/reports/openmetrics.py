"""A server's metrics as OpenMetrics text. Numbers and names only, no text of documents.

``FAMILIES`` is the list of all metrics; docs/monitoring.md and the dashboard are checked against it. Labels are
names of tools, projects, reasons and states. Each is one of a few; of projects the first ``MOST_PROJECTS`` are
named and the others summed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from winnow.server.runtime.metrics import BUCKETS

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
MOST_PROJECTS = 50
_OTHERS = "(others)"

MetricType = Literal["counter", "gauge", "histogram", "summary", "info"]
Figures = Mapping[str, Any]
# The suffix of a metric's name, its labels, its value.
Sample = tuple[str, Mapping[str, Any], float]


@dataclass(frozen=True, slots=True)
class Family:
    """A metric: its name without suffix, its kind, its meaning, and its samples in the figures of a server.

    ``unit`` is the last part of the name, or "" for a plain number. A server that lacks some figures at the time,
    because its store is not open yet or its engine does not answer, has no samples of the families over them.
    """

    name: str
    kind: MetricType
    help: str
    samples: Callable[[Figures], Iterator[Sample]]
    unit: str = ""

    @property
    def sample_names(self) -> tuple[str, ...]:
        """The names that its samples have, as a query spells them."""
        return tuple(f"{self.name}{suffix}" for suffix in _SUFFIXES[self.kind])


_SUFFIXES: Mapping[MetricType, tuple[str, ...]] = {
    "counter": ("_total",),
    "gauge": ("",),
    "histogram": ("_bucket", "_count", "_sum"),
    "summary": ("_count", "_sum"),
    "info": ("_info",),
}


def format_open_metrics(figures: Figures) -> str:
    """All metrics of a server; ``figures`` as ``/health`` shows them."""
    lines = [line for family in FAMILIES for line in _format(family, figures)]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _format(family: Family, figures: Figures) -> Iterator[str]:
    yield f"# TYPE {family.name} {family.kind}"
    if family.unit:
        yield f"# UNIT {family.name} {family.unit}"
    yield f"# HELP {family.name} {family.help}"
    for suffix, labels, value in family.samples(figures):
        label_text = ",".join(f'{label}="{_escape(str(text))}"' for label, text in labels.items())
        name = f"{family.name}{suffix}"
        # Not rounded: counters are compared with other counts.
        number = repr(round(value, 6)) if isinstance(value, float) else str(int(value))
        yield f"{name}{{{label_text}}} {number}" if label_text else f"{name} {number}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _value(*path: str) -> Callable[[Figures], Iterator[Sample]]:
    """The samples of a gauge without labels: the figure at this path, if there is one."""

    def samples(figures: Figures) -> Iterator[Sample]:
        if (value := _find(figures, *path)) is not None:
            yield "", {}, value

    return samples


def _total(*path: str) -> Callable[[Figures], Iterator[Sample]]:
    """The same for a counter."""
    return lambda figures: (("_total", labels, value) for _, labels, value in _value(*path)(figures))


def _by(label: str, *path: str, suffix: str = "", names: tuple[str, ...] = ()) -> Callable[..., Iterator[Sample]]:
    """Samples of the figures at this path by name; ``names`` chooses some of them."""

    def samples(figures: Figures) -> Iterator[Sample]:
        for name, value in (_find(figures, *path) or {}).items():
            if not names or name in names:
                yield suffix, {label: name}, value

    return samples


def _of_backends(read: Callable[[Figures], float], suffix: str = "") -> Callable[[Figures], Iterator[Sample]]:
    """One figure of each backend."""

    def samples(figures: Figures) -> Iterator[Sample]:
        for name, backend in (_find(figures, "backends") or {}).items():
            yield suffix, {"backend": name}, read(backend)

    return samples


def _find(figures: Figures, *path: str) -> Any:
    found: Any = figures
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _histogram(labels: Mapping[str, Any], durations: Figures) -> Iterator[Sample]:
    cumulative = 0
    for bound, count in zip((*map(str, BUCKETS), "+Inf"), durations["within"], strict=True):
        cumulative += count
        yield "_bucket", {**labels, "le": bound}, cumulative
    yield "_count", labels, cumulative
    yield "_sum", labels, float(durations["seconds"])


def _build(figures: Figures) -> Iterator[Sample]:
    if "version" in figures:
        yield "_info", {"version": figures["version"]}, 1


def _calls(figures: Figures) -> Iterator[Sample]:
    for tool, calls in figures["calls"].items():
        for verdict, count in calls["verdicts"].items():
            yield "_total", {"tool": tool, "verdict": verdict}, count


def _call_seconds(figures: Figures) -> Iterator[Sample]:
    for tool, calls in figures["calls"].items():
        yield from _histogram({"tool": tool}, calls)


def _answers(name: str) -> Callable[[Figures], Iterator[Sample]]:
    return lambda figures: (
        ("_total", {"tool": tool}, answers[name]) for tool, answers in figures["answers"].items()
    )


def _refusals(figures: Figures) -> Iterator[Sample]:
    for source, reasons in figures["refusals"].items():
        for reason, count in reasons.items():
            yield "_total", {"door": source, "reason": reason}, count


def _script_seconds(figures: Figures) -> Iterator[Sample]:
    yield from _histogram({}, figures["scripts"]["durations"])


def _waits(figures: Figures) -> Iterator[Sample]:
    yield "_count", {}, figures["queue_waits"]["waits"]
    yield "_sum", {}, float(figures["queue_waits"]["seconds"])


def _cache_lookups(figures: Figures) -> Iterator[Sample]:
    for name, counts in figures["caches"].items():
        yield "_total", {"cache": name, "result": "hit"}, counts["hits"]
        yield "_total", {"cache": name, "result": "miss"}, counts["misses"]


def _caches(field: str) -> Callable[[Figures], Iterator[Sample]]:
    return lambda figures: (("", {"cache": name}, counts[field]) for name, counts in figures["caches"].items())


def _projects(field: str) -> Callable[[Figures], Iterator[Sample]]:
    def samples(figures: Figures) -> Iterator[Sample]:
        projects = _find(figures, "store", "projects") or ()
        for project in projects[:MOST_PROJECTS]:
            yield "", {"project": project["name"]}, project[field]
        if others := projects[MOST_PROJECTS:]:
            yield "", {"project": _OTHERS}, sum(project[field] for project in others)

    return samples


def _changed(figures: Figures) -> Iterator[Sample]:
    for project in (_find(figures, "store", "projects") or ())[:MOST_PROJECTS]:
        if project["changed"]:
            yield "", {"project": project["name"]}, datetime.fromisoformat(project["changed"]).timestamp()


def _model_ready(figures: Figures) -> Iterator[Sample]:
    if state := _find(figures, "store", "model", "state"):
        yield "", {}, state == "ready"


FAMILIES: tuple[Family, ...] = (
    Family("winnow_build", "info", "the version of the server", _build),
    Family("winnow_uptime_seconds", "gauge", "time since the server started", _value("uptime_seconds"), "seconds"),
    Family("winnow_draining", "gauge", "1 while the server ends and takes no calls", _value("draining")),
    Family("winnow_ready", "gauge", "1 if calls can be answered, as /health/ready says", _value("ready")),
    # calls
    Family("winnow_calls", "counter", "calls of tools, by how they ended", _calls),
    Family("winnow_call_seconds", "histogram", "how long calls of tools took", _call_seconds, "seconds"),
    Family("winnow_answer_tokens", "counter", "tokens of the answers of tools", _answers("tokens"), "tokens"),
    Family("winnow_answer_bytes", "counter", "bytes of the answers of tools", _answers("bytes"), "bytes"),
    Family("winnow_refusals", "counter", "requests that were refused or failed, by door and reason", _refusals),
    Family(
        "winnow_http_connections",
        "gauge",
        "connections of HTTP clients that are open",
        _value("http", "connections"),
    ),
    Family(
        "winnow_rejected_keys",
        "counter",
        "wrong keys that HTTP clients sent, and keys of addresses that had to wait",
        _total("access", "rejected_keys"),
    ),
    Family(
        "winnow_blocked_addresses",
        "gauge",
        "addresses that wait because they sent wrong keys",
        _value("access", "blocked_addresses"),
    ),
    Family(
        "winnow_unaudited",
        "counter",
        "calls and scripts whose line could not be written to the audit files",
        _by("kind", "unaudited", suffix="_total"),
    ),
    # scripts
    Family(
        "winnow_scripts",
        "counter",
        "scripts, by how they ended",
        _by("status", "scripts", "endings", suffix="_total"),
    ),
    Family("winnow_script_seconds", "histogram", "how long scripts ran", _script_seconds, "seconds"),
    Family("winnow_script_calls", "counter", "SDK calls of scripts", _total("scripts", "sdk_calls")),
    Family("winnow_script_rows", "counter", "rows that scripts read", _total("scripts", "rows")),
    Family(
        "winnow_script_tokens_kept_out",
        "counter",
        "tokens that scripts read and did not return",
        _total("scripts", "tokens_kept_out"),
    ),
    Family("winnow_sandbox_available", "gauge", "1 if scripts can run", _value("sandbox_available")),
    Family("winnow_workers", "gauge", "scripts that may run at once", _value("queue", "workers")),
    Family(
        "winnow_queue_scripts",
        "gauge",
        "scripts that run or wait for a worker now",
        _by("state", "queue", names=("running", "waiting")),
    ),
    Family("winnow_queue_capacity", "gauge", "scripts that may wait for a worker", _value("queue", "capacity")),
    Family("winnow_queue_wait_seconds", "summary", "how long scripts waited for a worker", _waits, "seconds"),
    # caches and passages
    Family("winnow_cache_lookups", "counter", "lookups in caches, by their result", _cache_lookups),
    Family("winnow_cache_entries", "gauge", "entries of caches", _caches("entries")),
    Family("winnow_cache_capacity", "gauge", "the most entries that caches may have", _caches("capacity")),
    Family("winnow_passages", "gauge", "passages kept for sessions", _value("scratch", "entries")),
    Family("winnow_passage_bytes", "gauge", "memory of these passages", _value("scratch", "bytes"), "bytes"),
    Family("winnow_sessions", "gauge", "sessions that have passages", _value("scratch", "sessions")),
    # the index
    Family("winnow_index_documents", "gauge", "documents in the index", _projects("documents")),
    Family("winnow_index_passages", "gauge", "passages in the index", _projects("passages")),
    Family("winnow_index_vectors", "gauge", "vectors of all projects of the store", _value("store", "vectors")),
    Family("winnow_store_bytes", "gauge", "bytes of the store on disk", _by("part", "disk", "parts"), "bytes"),
    Family(
        "winnow_store_free_bytes",
        "gauge",
        "free bytes on the file system of the store",
        _value("disk", "free_bytes"),
        "bytes",
    ),
    Family(
        "winnow_index_changed_timestamp_seconds",
        "gauge",
        "when documents of a project last changed",
        _changed,
        "seconds",
    ),
    Family(
        "winnow_ingest_finished_timestamp_seconds",
        "gauge",
        "when the last ingest that an agent asked for ended",
        _value("ingest", "finished_at"),
        "seconds",
    ),
    Family("winnow_ingest_jobs", "gauge", "ingests that have not ended", _by("state", "ingest", "jobs")),
    Family(
        "winnow_source_scan_timestamp_seconds",
        "gauge",
        "when the source that was scanned longest ago was scanned, or added",
        _value("ingest", "scanned_at"),
        "seconds",
    ),
    Family("winnow_source_paths", "gauge", "watched paths, by their state", _by("state", "ingest", "paths")),
    Family(
        "winnow_source_pending_documents",
        "gauge",
        "documents that are gone and stay in the index until that is confirmed",
        _value("ingest", "pending_documents"),
    ),
    Family(
        "winnow_source_unreadable_files",
        "gauge",
        "files of sources that are not in the index",
        _value("ingest", "unreadable_files"),
    ),
    # the model
    Family("winnow_model_ready", "gauge", "1 if the embedding model is loaded", _model_ready),
    Family(
        "winnow_model_load_seconds",
        "gauge",
        "how long the embedding model took to load",
        _value("store", "model", "load_seconds"),
        "seconds",
    ),
    Family(
        "winnow_embedded_batches", "counter", "batches that were embedded", _total("store", "model", "batches")
    ),
    Family("winnow_embedded_texts", "counter", "texts that were embedded", _total("store", "model", "texts")),
    Family(
        "winnow_harvest_alerts",
        "counter",
        "clients that listed much and read hardly any of it",
        _total("harvest_alerts"),
    ),
    # backends that may be away
    Family(
        "winnow_backend_circuit_open",
        "gauge",
        "1 while a backend that did not answer is not called",
        _of_backends(lambda figures: figures["state"] != "closed"),
    ),
    Family(
        "winnow_backend_circuit_openings",
        "counter",
        "how often that began",
        _of_backends(lambda figures: figures["opened"], "_total"),
    ),
    Family(
        "winnow_backend_refused_calls",
        "counter",
        "calls of a backend that were refused meanwhile",
        _of_backends(lambda figures: figures["refused"], "_total"),
    ),
    Family(
        "winnow_backend_running_calls",
        "gauge",
        "calls of a backend that run now",
        _of_backends(lambda figures: figures["running"]),
    ),
    Family(
        "winnow_backend_waiting_calls",
        "gauge",
        "calls that wait for a place now",
        _of_backends(lambda figures: figures["waiting"]),
    ),
    # capacities
    Family(
        "winnow_capacity_used_ratio",
        "gauge",
        "used parts of what is limited, from 0 to 1",
        _by("name", "capacities"),
        "ratio",
    ),
    Family("winnow_alert", "gauge", "1 where a capacity is nearly used up", _by("name", "alerts")),
)
