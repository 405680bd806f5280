"""The examples for operators, by the programs that they are for: nginx, Caddy, systemd, Prometheus.

A program that is not installed skips its test. Where the examples name a certificate, a user or a program of
another machine, the tests put theirs in.
"""

from __future__ import annotations

import configparser
import itertools
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml
from typer.testing import CliRunner

from tests.certificates import make_certificate
from tests.flow.test_drain import ALONE
from tests.flow.test_stdio import WINNOW
from tests.patience import LIMIT, start_process, until
from winnow.server.commands.ingest import app as ingest_app
from winnow.server.commands.serving.keys import app as key_app
from winnow.server.commands.watching.sources import app as sources_app
from winnow.server.jobs.watching.ingest_lag import measure_lag
from winnow.server.settings.settings import Settings
from winnow.server.tools.table import TOOLS
from winnow.server.transports.access.failed_attempts import FailedAttempts
from winnow.server.transports.facade.discovery import _seconds

pytestmark = pytest.mark.both_users

DOCS = Path(__file__).parents[2] / "docs"
HOSTING, MONITORING = ((DOCS / name).read_text("utf-8") for name in ("hosting.md", "monitoring.md"))
HOST = "winnow.example.com"


def example(page: str, language: str, *, contains: str = "") -> str:
    """The example of this language that has these words."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (found,) = (text for text in blocks if contains in text)
    return str(found)


def program(name: str) -> str:
    """The path of this program; skips the test where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def run(*command: str | Path) -> str:
    """What the command prints; fails where it does not end with 0."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


BEHIND_A_PROXY = ("--host-name", HOST, "--trusted-proxy", "127.0.0.1")


@contextmanager
def served(store: Path, *options: str | Path) -> Iterator[tuple[int, str]]:
    """A server that is about to listen; yields its port and a key."""
    store.mkdir(exist_ok=True)
    added = CliRunner().invoke(key_app, ["add", "laptop", "--store", str(store)])
    port, key = free_port(), added.stdout.strip()
    command = [WINNOW, "serve", "--store", store, "--http", f"127.0.0.1:{port}", *options]
    with start_process(command, env={**os.environ, **ALONE}, stderr=subprocess.DEVNULL):
        yield port, key


def statuses(folder: Path, port: int, key: str, *paths: str) -> list[int]:
    """The statuses of these paths behind a proxy with TLS; 0 where nothing answers. Redirects are not followed."""
    trusted = ssl.create_default_context(cafile=str(folder / "chain.pem"))
    headers, name = {"Host": HOST, "X-API-Key": key}, {"sni_hostname": HOST}
    found = []
    with httpx.Client(verify=trusted, headers=headers, timeout=LIMIT, trust_env=False) as client:
        for path in paths:
            try:
                found.append(client.get(f"https://127.0.0.1:{port}{path}", extensions=name).status_code)
            except httpx.TransportError:
                found.append(0)
    return found


def status_of_post(folder: Path, port: int, key: str, size: int) -> int:
    """The status of a body of so many bytes that is no message."""
    trusted = ssl.create_default_context(cafile=str(folder / "chain.pem"))
    accepted = "application/json, text/event-stream"
    headers = {"Host": HOST, "X-API-Key": key, "Accept": accepted, "Content-Type": "application/json"}
    with httpx.Client(verify=trusted, headers=headers, timeout=LIMIT, trust_env=False) as client:
        address, extensions = f"https://127.0.0.1:{port}/mcp", {"sni_hostname": HOST}
        return client.post(address, content=b" " * size, extensions=extensions).status_code


def check_proxy(folder: Path, port: int, key: str) -> None:
    """Whether the proxy hands requests over, and the server behind it redirects none."""
    until(lambda: statuses(folder, port, key, "/health/live") == [200])
    assert statuses(folder, port, key, "/health", "/mcp/discover") == [200, 200]
    slashes = ("/mcp/", "/mcp/discover/", "/mcp/tool/kb.search/", "//mcp")
    assert statuses(folder, port, key, *slashes) == [404] * 4
    assert statuses(folder, port, "wrong", "/health") == [401]


@pytest.mark.parametrize(("words", "found"), [("/mcp/tool/", '"ok":true'), ("mcp() {", '"structuredContent":')])
def test_a_call_by_hand_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, found: str
) -> None:
    (tmp_path / "note.md").write_text("# Backups\n\nBackups are encrypted with age.\n")
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
    CliRunner().invoke(ingest_app, [str(tmp_path / "note.md"), "--store", str(tmp_path / "store")])
    with served(tmp_path / "store") as (port, key):
        program("curl")
        until(lambda: _answers(port))
        script = example(HOSTING, "bash", contains=words).replace("127.0.0.1:8765", f"127.0.0.1:{port}")
        told = subprocess.run(
            [program("bash"), "-euc", script],
            env={**os.environ, "WINNOW_KEY": key},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )
    said = told.stdout.replace('": ', '":')
    assert (found in said, "Backups are encrypted with age." in said, told.stderr) == (True, True, "")


def test_a_call_without_its_session_is_told_of_both_ways(tmp_path: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "kb_search", "arguments": {}}}
    headers = {"Accept": "application/json, text/event-stream"}
    with served(tmp_path / "store") as (port, key):
        until(lambda: _answers(port))
        refused = httpx.post(f"http://127.0.0.1:{port}/mcp", json=call, headers={**headers, "X-API-Key": key})
    assert (refused.status_code, refused.json()["error"]["message"]) == (
        400,
        "Bad Request: Missing session ID; call initialize first, and send the header Mcp-Session-Id of its answer "
        "with every further request. Without a session and without MCP: POST /mcp/tool/NAME, whose body is the "
        "tool's arguments",
    )


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health/live", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def test_behind_nginx_with_tls_a_key_is_never_sent_elsewhere(tmp_path: Path) -> None:
    nginx = program("nginx")
    make_certificate(tmp_path, host=HOST)
    with served(tmp_path / "store", *BEHIND_A_PROXY) as (port, key):
        tls = free_port()
        block = example(HOSTING, "nginx").replace("/etc/ssl/winnow", str(tmp_path))
        block = block.replace("127.0.0.1:8765", f"127.0.0.1:{port}").replace(
            "listen 443", f"listen 127.0.0.1:{tls}"
        )
        temporary = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;" if os.getuid() == 0 else ""
        (tmp_path / "nginx.conf").write_text(
            f"{user} daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\n"
            f"events {{}}\nhttp {{ access_log off; {temporary}\n{block}\n}}\n"
        )
        command = [nginx, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
        with start_process(command, stderr=subprocess.DEVNULL):
            check_proxy(tmp_path, tls, key)
            assert status_of_post(tmp_path, tls, key, 3 << 20) == 400  # the server's own answer


def test_no_proxy_of_the_examples_gives_up_a_call_that_the_server_may_still_answer() -> None:
    """A script waits for a worker and then runs, each for as long as the settings and the tool admit."""
    (tool,) = (tool for tool in TOOLS if tool.name == "execute_code")
    longest = _seconds(tool, Settings())
    nginx = int(re.findall(r"proxy_read_timeout (\d+)s;", HOSTING)[0])
    assert (longest, longest <= nginx - 10) == (120.0, True)
    assert "timeout" not in example(HOSTING, "text", contains="reverse_proxy")


def test_behind_caddy_with_tls_a_key_is_never_sent_elsewhere(tmp_path: Path) -> None:
    caddy = program("caddy")
    site = example(HOSTING, "text", contains="reverse_proxy")
    (tmp_path / "Caddyfile").write_text(site)
    command = (caddy, "validate", "--adapter", "caddyfile", "--config", tmp_path / "Caddyfile")
    assert "Valid configuration" in run(*command)
    make_certificate(tmp_path, host=HOST)
    with served(tmp_path / "store", *BEHIND_A_PROXY) as (port, key):
        tls = free_port()
        site = site.replace("127.0.0.1:8765", f"127.0.0.1:{port}").replace(
            f"{HOST} {{", f"https://{HOST}:{tls} {{\nbind 127.0.0.1\ntls {tmp_path}/chain.pem {tmp_path}/key.pem"
        )
        options = "{\nadmin off\nauto_https disable_redirects\nskip_install_trust\n}\n"
        (tmp_path / "Caddyfile").write_text(options + site)
        command = (caddy, "run", "--adapter", "caddyfile", "--config", tmp_path / "Caddyfile")
        with start_process(command, env={**os.environ, "HOME": str(tmp_path)}, stderr=subprocess.DEVNULL):
            check_proxy(tmp_path, tls, key)


def test_systemd_reads_the_unit_which_ends_the_server_alone(tmp_path: Path) -> None:
    unit = configparser.RawConfigParser()
    unit.read_string(example(HOSTING, "ini"))
    assert unit["Service"]["KillMode"] == "process"
    assert "--project handbook " in unit["Service"]["ExecStart"]
    analyze = program("systemd-analyze")
    text = example(HOSTING, "ini").replace("/usr/local/bin/winnow", sys.executable)
    text = text.replace("User=winnow", "User=root")
    (tmp_path / "winnow.service").write_text(text)
    assert str(tmp_path) not in run(analyze, "verify", "--man=no", tmp_path / "winnow.service")


def test_prometheus_reads_the_configuration_and_the_alerts(tmp_path: Path) -> None:
    promtool = program("promtool")
    (tmp_path / "winnow.key").write_text("key")
    shutil.copy(DOCS / "examples" / "prometheus-alerts.yml", tmp_path)
    text = example(MONITORING, "yaml").replace("/etc/prometheus", str(tmp_path))
    (tmp_path / "prometheus.yml").write_text(f"rule_files: [prometheus-alerts.yml]\n{text}")
    assert "scheme: https" in text
    assert "SUCCESS" in run(promtool, "check", "config", tmp_path / "prometheus.yml")


def test_prometheus_scrapes_a_server(tmp_path: Path) -> None:
    prometheus = program("prometheus")
    certificate = make_certificate(tmp_path)
    assert certificate.file is not None
    assert certificate.key_file is not None
    tls = ("--tls-cert", certificate.file, "--tls-key", certificate.key_file)
    with served(tmp_path / "store", *tls) as (port, key):
        (tmp_path / "winnow.key").write_text(key)
        text = example(MONITORING, "yaml").replace("/etc/prometheus", str(tmp_path))
        text = text.replace(f"{HOST}:443", f"localhost:{port}")
        trusted = f"    tls_config: {{ca_file: {tmp_path}/chain.pem}}\n"
        (tmp_path / "prometheus.yml").write_text(f"global: {{scrape_interval: 1s}}\n{text}{trusted}")
        own = f"127.0.0.1:{free_port()}"
        options = [f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address={own}"]
        command = [prometheus, f"--config.file={tmp_path}/prometheus.yml", *options]
        with start_process(command, stderr=subprocess.DEVNULL):
            until(lambda: value_of(own, 'up{job="winnow"}') == "1")
            until(lambda: value_of(own, "winnow_build_info") == "1")


def value_of(address: str, query: str) -> str | None:
    """The value of a query's only series in a Prometheus server; None without one, or no answer."""
    try:
        answer = httpx.get(f"http://{address}/api/v1/query", params={"query": query}, trust_env=False)
    except httpx.TransportError:
        return None
    if answer.status_code != 200:  # it is starting
        return None
    series = answer.json()["data"]["result"]
    return str(series[0]["value"][1]) if len(series) == 1 else None


def test_each_server_that_is_away_raises_an_alert(tmp_path: Path) -> None:
    promtool = program("promtool")
    shutil.copy(DOCS / "examples" / "prometheus-alerts.yml", tmp_path)
    (tmp_path / "test.yml").write_text(
        """
rule_files: [prometheus-alerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'up{job="winnow", instance="one"}', values: '1x20'}
      - {series: 'up{job="winnow", instance="two"}', values: '0x20'}
    alert_rule_test:
      - eval_time: 10m
        alertname: WinnowDown
        exp_alerts:
          - exp_labels: {job: winnow, instance: two}
            exp_annotations: {summary: "winnow does not answer at /metrics: two"}
"""
    )
    assert "SUCCESS" in run(promtool, "test", "rules", tmp_path / "test.yml")


def check_rule(folder: Path, alert: str, minutes: int, series: str, summaries: dict[str, str]) -> None:
    """Whether the alert is raised for these instances alone, each with its summary, that many minutes later."""
    promtool = program("promtool")
    shutil.copy(DOCS / "examples" / "prometheus-alerts.yml", folder)
    expected = [
        {"exp_labels": labels_of(name), "exp_annotations": {"summary": summary}}
        for name, summary in summaries.items()
    ]
    inputs = [
        {"series": name, "values": values.replace("_", " ")}
        for name, values in map(str.split, series.strip().splitlines())
    ]
    rule_test = {"eval_time": f"{minutes}m", "alertname": alert, "exp_alerts": expected}
    test = {"interval": "1m", "input_series": inputs, "alert_rule_test": [rule_test]}
    document = {"rule_files": ["prometheus-alerts.yml"], "evaluation_interval": "1m", "tests": [test]}
    (folder / "test.yml").write_text(yaml.safe_dump(document))
    assert "SUCCESS" in run(promtool, "test", "rules", folder / "test.yml")


def labels_of(name: str) -> dict[str, str]:
    """The labels of an alert that is written as ``instance`` or as ``instance/label=value``."""
    instance, *others = name.split("/")
    return {"instance": instance, **dict(other.split("=") for other in others)}


def test_a_call_that_is_not_audited_raises_an_alert(tmp_path: Path) -> None:
    check_rule(
        tmp_path,
        "WinnowNotAudited",
        12,
        """
        winnow_unaudited_total{instance="one",kind="calls"} 0x10_1x20
        winnow_unaudited_total{instance="two",kind="calls"} 0x30
        """,
        {"one/kind=calls": "calls are not audited on one: winnow doctor"},
    )


def test_a_server_that_cannot_answer_calls_raises_an_alert(tmp_path: Path) -> None:
    check_rule(
        tmp_path,
        "WinnowNotReady",
        15,
        """
        winnow_ready{instance="one"} 0x20
        winnow_draining{instance="one"} 0x20
        winnow_ready{instance="two"} 1x20
        winnow_draining{instance="two"} 0x20
        """,
        {"one": "calls cannot be answered on one: /health/ready says why"},
    )


def test_failing_calls_raise_an_alert_however_few_calls_there_are(tmp_path: Path) -> None:
    """One in five minutes fails on the first, one of a hundred on the second."""
    check_rule(
        tmp_path,
        "WinnowErrors",
        60,
        """
        winnow_calls_total{instance="one",verdict="ok"} 0+0.2x90
        winnow_calls_total{instance="one",verdict="TIMEOUT"} 0+0.2x90
        winnow_calls_total{instance="two",verdict="ok"} 0+99x90
        winnow_calls_total{instance="two",verdict="TIMEOUT"} 0+1x90
        """,
        {"one": "more than 10 of 100 calls fail on one"},
    )


def test_scripts_that_take_their_time_are_no_slow_calls(tmp_path: Path) -> None:
    check_rule(
        tmp_path,
        "WinnowSlow",
        60,
        """
        winnow_call_seconds_bucket{instance="one",tool="execute_code",le="2.0"} 0x90
        winnow_call_seconds_bucket{instance="one",tool="execute_code",le="60.0"} 0+9x90
        winnow_call_seconds_bucket{instance="one",tool="execute_code",le="+Inf"} 0+9x90
        winnow_call_seconds_bucket{instance="two",tool="kb.search",le="2.0"} 0x90
        winnow_call_seconds_bucket{instance="two",tool="kb.search",le="60.0"} 0+9x90
        winnow_call_seconds_bucket{instance="two",tool="kb.search",le="+Inf"} 0+9x90
        """,
        {"two": "5 of 100 calls take more than 2 seconds on two"},
    )


def test_a_source_that_no_process_watches_has_a_time_and_raises_an_alert(tmp_path: Path) -> None:
    """It counts from when it was added."""
    folder = tmp_path / "notes"
    folder.mkdir()
    added = CliRunner().invoke(sources_app, ["add", str(folder), "--store", str(tmp_path / "store")])
    assert added.exit_code == 0, added.output
    assert measure_lag(tmp_path / "store")["scanned_at"] == (tmp_path / "store" / "sources.json").stat().st_mtime
    summary = "a source was last scanned two hours ago on one: winnow sources list"
    series = 'winnow_source_scan_timestamp_seconds{instance="one"} 0x300'
    check_rule(tmp_path, "WinnowSourcesNotScanned", 200, series, {"one": summary})


def test_wrong_keys_of_one_address_raise_an_alert_although_it_has_to_wait(tmp_path: Path) -> None:
    promtool = program("promtool")
    shutil.copy(DOCS / "examples" / "prometheus-alerts.yml", tmp_path)
    clock = itertools.count(step=0.5)
    now = [0.0]
    attempts = FailedAttempts(lambda: now[0])
    counts = []
    for _ in range(25):
        counts.append(attempts.total)
        for now[0] in itertools.islice(clock, 120):
            if not attempts.refuse("192.0.2.7"):
                attempts.add("192.0.2.7")
    series = f"'winnow_rejected_keys_total{{instance=\"one\"}}', values: '{' '.join(map(str, counts))}'"
    (tmp_path / "test.yml").write_text(
        f"""
rule_files: [prometheus-alerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: {series}}}
    alert_rule_test:
      - eval_time: 24m
        alertname: WinnowWrongKeys
        exp_alerts:
          - exp_labels: {{instance: one}}
            exp_annotations: {{summary: "many wrong keys are tried on one"}}
"""
    )
    assert "SUCCESS" in run(promtool, "test", "rules", tmp_path / "test.yml")
