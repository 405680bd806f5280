"""The examples for operators, by the programs that they are for: nginx, Caddy, systemd, Prometheus.

A program that is not installed skips its test. Where the examples name a certificate, a user or a program of
another machine, the tests put theirs in.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from server.commands.serving.keys import app as key_app
from tests.certificates import make_certificate
from tests.flow.test_drain import ALONE, get
from tests.flow.test_stdio import WINNOW
from tests.patience import LIMIT, start_process, until

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


@contextmanager
def served(store: Path) -> Iterator[tuple[int, str]]:
    """The server of the example, behind a proxy; yields its port and a key."""
    added = CliRunner().invoke(key_app, ["add", "laptop", "--store", str(store)])
    port, key = free_port(), added.stdout.strip()
    options = ["--host-name", HOST, "--trusted-proxy", "127.0.0.1"]
    command = [WINNOW, "serve", "--store", store, "--http", f"127.0.0.1:{port}", *options]
    with start_process(command, env={**os.environ, **ALONE}, stderr=subprocess.DEVNULL):
        until(lambda: get(f"127.0.0.1:{port}", "/health/live")[0] == 200)
        yield port, key


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: object) -> None:
        """Follow nothing."""


def test_behind_nginx_with_tls_a_key_is_never_sent_elsewhere(tmp_path: Path) -> None:
    nginx = program("nginx")
    (tmp_path / "store").mkdir()
    make_certificate(tmp_path)
    with served(tmp_path / "store") as (port, key):
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
            trusted = ssl.create_default_context(cafile=str(tmp_path / "chain.pem"))
            opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusted), _NoRedirect())

            def status(path: str, text: str = key) -> int:
                headers = {"Host": HOST, "X-API-Key": text}
                request = urllib.request.Request(f"https://localhost:{tls}{path}", headers=headers)
                try:
                    with opener.open(request, timeout=LIMIT) as answer:
                        return int(answer.status)
                except urllib.error.HTTPError as refused:
                    return refused.code
                except OSError:
                    return 0

            until(lambda: status("/health/live") == 200)
            assert [status(path) for path in ("/health", "/mcp/discover")] == [200, 200]
            assert [status(path) for path in ("/mcp/", "/mcp/discover/", "/mcp/tool/kb.search/", "//mcp")] == [
                404
            ] * 4
            assert status("/health", "wrong") == 401


def test_caddy_reads_its_example(tmp_path: Path) -> None:
    caddy = program("caddy")
    (tmp_path / "Caddyfile").write_text(example(HOSTING, "text", contains="reverse_proxy"))
    command = (caddy, "validate", "--adapter", "caddyfile", "--config", tmp_path / "Caddyfile")
    assert "Valid configuration" in run(*command)


def test_systemd_reads_the_unit_which_ends_the_server_alone(tmp_path: Path) -> None:
    unit = configparser.RawConfigParser()
    unit.read_string(example(HOSTING, "ini"))
    assert unit["Service"]["KillMode"] == "process"
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
