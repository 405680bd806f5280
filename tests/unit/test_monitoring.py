"""Metrics are OpenMetrics that another parser reads; a capacity that runs out is told once."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from winnow.server.runtime.metrics import BUCKETS, Metrics
from winnow.server.runtime.reports.capacities import CLEAR_RATIO, WARN_RATIO, Alerts
from winnow.server.runtime.reports.openmetrics import FAMILIES, MOST_PROJECTS, format_open_metrics
from winnow.server.storage.files.disk_use import ROOM_BYTES

MIB, GIB = 1 << 20, 1 << 30
DOCS = Path(__file__).parents[2] / "docs"


def figures(**changes: Any) -> dict[str, Any]:
    """The figures of a server with one of everything."""
    counted = Metrics()
    counted.count_answer("kb.search", 1_234_567, 98_765_432, failed=False)
    for verdict, seconds in (("ok", 0.004), ("ok", 0.3), ("TIMEOUT", 70.0)):
        counted.count_call("kb.search", verdict, seconds)
    counted.count_refusal("call", "TIMEOUT")
    counted.count_refusal("http", 'un"auth\\or\nized')
    counted.count_execution("ok", 0.2, 3, 10, 900)
    counted.count_wait(1.5)
    projects = [{"name": "handbook", "documents": 3, "passages": 9, "changed": "2026-01-01T00:00:00Z"}]
    return {
        "version": "1.2.3",
        "uptime_seconds": 4,
        "draining": False,
        "ready": True,
        "sandbox_available": True,
        **counted.snapshot(),
        "queue": {"running": 1, "waiting": 2, "workers": 2, "capacity": 50},
        "caches": {"views.full": {"hits": 3, "misses": 1, "entries": 1, "capacity": 64}},
        "scratch": {"entries": 1, "bytes": 10, "sessions": 1, "capacity_bytes": 100},
        "store": {
            "projects": projects,
            "vectors": 9,
            "model": {"state": "ready", "load_seconds": 0.5, "batches": 2, "texts": 9},
        },
        "disk": {"parts": {"vectors": 5}, "total_bytes": 100, "free_bytes": 40, "room_bytes": 30},
        "ingest": {
            "finished_at": 5.0,
            "jobs": {"queued": 1, "running": 0},
            "jobs_capacity": 20,
            "scanned_at": 6.0,
            "paths": {"events": 1},
            "pending_documents": 0,
            "unreadable_files": 0,
        },
        "http": {"connections": 3, "capacity": 4096},
        "access": {"rejected_keys": 2, "blocked_addresses": 1},
        "backends": {"qdrant": {"state": "open", "opened": 1, "refused": 2, "running": 3, "waiting": 4}},
        "rates": {"direct": {"most_calls": 10, "allowed": 100}},
        **changes,
    }


def read(shown: dict[str, Any]) -> list[Any]:
    """The families of these figures, as another parser reads them."""
    return list(text_string_to_metric_families(format_open_metrics(shown)))


def with_alerts(**changes: Any) -> dict[str, Any]:
    shown = figures(**changes)
    return shown | Alerts().update(shown)


def test_another_parser_reads_every_family_with_its_kind_unit_and_samples() -> None:
    by_name = {family.name: family for family in read(with_alerts())}
    assert by_name.keys() == {family.name for family in FAMILIES}
    for family in FAMILIES:
        found = by_name[family.name]
        assert (found.type, found.documentation, found.unit) == (family.kind, family.help, family.unit)
        assert {sample.name for sample in found.samples} == set(family.sample_names)


def test_the_queries_of_the_dashboard_and_of_the_alerts_name_metrics_and_labels_that_exist() -> None:
    dashboard = json.loads((DOCS / "examples" / "grafana-dashboard.json").read_text("utf-8"))
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    queries += [each["query"] for each in dashboard["templating"]["list"]]
    (group,) = yaml.safe_load((DOCS / "examples" / "prometheus-alerts.yml").read_text("utf-8"))["groups"]
    queries += [rule["expr"] for rule in group["rules"]]
    samples = [sample for family in read(with_alerts()) for sample in family.samples]
    labels_of = {sample.name: {"job", "instance", *sample.labels} for sample in samples}
    labels_of["up"] = {"job", "instance"}  # of Prometheus itself
    assert len([query for query in queries if "winnow_" in query]) > 30
    for query in queries:
        used = re.findall(r"winnow_\w+|\bup\b", query)
        assert (query, set(used) - labels_of.keys()) == (query, set())
        labels = set(re.findall(r"(\w+)(?:=|!~|=~)\"", query))
        labels |= {name.strip() for names in re.findall(r"by \(([^)]*)\)", query) for name in names.split(",")}
        known = set().union(*(labels_of[name] for name in used), *([{"le"}] if "_bucket" in query else []))
        assert (query, labels - known) == (query, set())


def test_the_page_names_every_metric_and_no_other() -> None:
    named = set(re.findall(r"`(winnow_\w+)", (DOCS / "monitoring.md").read_text("utf-8")))
    known = {
        family.name if family.kind in ("histogram", "summary") else family.sample_names[0] for family in FAMILIES
    }
    assert named == known


def test_no_count_is_rounded_and_no_text_breaks_a_line() -> None:
    text = format_open_metrics(with_alerts())
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    by_name = {sample.name: sample.value for sample in samples}
    assert by_name["winnow_answer_tokens_total"] == 1_234_567
    assert by_name["winnow_answer_bytes_total"] == 98_765_432
    assert by_name["winnow_script_seconds_sum"] == 0.2
    reasons = {sample.labels["reason"] for sample in samples if sample.name == "winnow_refusals_total"}
    assert reasons == {"TIMEOUT", 'un"auth\\or\nized'}
    buckets = [sample for sample in samples if sample.name == "winnow_call_seconds_bucket"]
    assert [sample.value for sample in buckets] == [1, 1, 1, *[2] * (len(BUCKETS) - 3), 3]


def test_a_server_whose_store_is_not_open_has_metrics_all_the_same() -> None:
    bare = {name: value for name, value in figures().items() if name not in ("http", "access", "rates")}
    bare |= {"store": None, "scratch": {"code": "BACKEND_UNAVAILABLE"}, "caches": {}}
    text = format_open_metrics(bare | Alerts().update(bare))
    samples = {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}
    assert "winnow_calls_total" in samples
    assert not [name for name in samples if name.startswith(("winnow_index", "winnow_model", "winnow_http"))]


def test_many_projects_make_few_series_that_add_up() -> None:
    projects = [{"name": f"p{n}", "documents": 1, "passages": 2, "changed": ""} for n in range(MOST_PROJECTS + 30)]
    text = format_open_metrics(with_alerts(store={**figures()["store"], "projects": projects}))
    (family,) = (
        family for family in text_string_to_metric_families(text) if family.name == "winnow_index_documents"
    )
    assert len(family.samples) == MOST_PROJECTS + 1
    assert sum(sample.value for sample in family.samples) == len(projects)


def test_a_capacity_is_told_once_when_it_runs_out_and_again_only_after_it_had_room(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "winnow")
    alerts = Alerts()

    def waiting(count: int) -> tuple[int, list[str]]:
        caplog.clear()
        queue = {"running": 2, "waiting": count, "workers": 2, "capacity": 100}
        told = alerts.update(figures(queue=queue))
        messages = [record.getMessage() for record in caplog.records if record.fields["name"] == "queue"]
        return told["alerts"]["queue"], messages

    near, around, clear = 100 * WARN_RATIO, 100 * CLEAR_RATIO, 100 * CLEAR_RATIO - 1
    assert waiting(int(near) - 1) == (0, [])
    assert waiting(int(near)) == (1, ["a capacity is nearly used up"])
    assert waiting(int(near)) == waiting(int(around)) == (1, [])
    assert waiting(int(clear)) == (0, ["a capacity has room again"])
    assert waiting(int(near)) == (1, ["a capacity is nearly used up"])


@pytest.mark.parametrize(
    ("store_bytes", "free_bytes", "is_near"),
    [
        (1 * MIB, 44 * GIB, 0),
        (1 * MIB, 150 * MIB, 1),
        (1 * MIB, 0, 1),
        (40 * GIB, 44 * GIB, 0),
        (40 * GIB, 5 * GIB, 1),
    ],
)
def test_the_disk_is_nearly_full_when_ingests_are_about_to_stop_whatever_others_have_on_it(
    store_bytes: int, free_bytes: int, is_near: int
) -> None:
    room = max(0, free_bytes - ROOM_BYTES)
    disk = {"parts": {"vectors": store_bytes}, "total_bytes": 232 * GIB, "free_bytes": free_bytes}
    assert with_alerts(disk=disk | {"room_bytes": room})["alerts"]["disk"] == is_near


def test_each_capacity_has_its_own_ratio() -> None:
    disk = {"parts": {"vectors": 15 * GIB, "graph": 4 * GIB}, "total_bytes": 99 * GIB, "free_bytes": 2 * GIB}
    told = with_alerts(disk=disk | {"room_bytes": GIB})
    assert told["capacities"]["disk"] == 0.95
    assert {name for name, on in told["alerts"].items() if on} == {"disk"}
    assert told["capacities"].keys() == told["alerts"].keys() >= {"queue", "passages", "cache views.full", "jobs"}
    assert json.loads(json.dumps(told)) == told
