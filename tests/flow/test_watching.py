"""Figures of a running server: in ``winnow stats`` on any transport, as metrics, and in its log."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.flow.test_stdio import serving
from winnow.server.commands.entry.statistics import ask_servers, summarize_metrics
from winnow.server.commands.stats import app as stats_app
from winnow.server.engine import endpoint
from winnow.server.runtime.metrics import Metrics
from winnow.server.storage.keys.key_file import FILE as KEYS_FILE
from winnow.server.storage.keys.key_file import add_key, new_key

WINNOW = Path(sys.executable).with_name("winnow")
ENVIRONMENT = {**os.environ, "WINNOW_EMBEDDING": "off", "WINNOW_DAEMON": "off", "WINNOW_EXECUTE_CODE": "off"}
linux = pytest.mark.skipif(not endpoint.is_supported(), reason="the kernel must say who is at the other end")


def stats(store: Path, *flags: str) -> Any:
    run = subprocess.run(
        [WINNOW, "stats", "--store", store, *flags], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout) if "--json" in flags else run.stdout


@linux
def test_a_server_on_a_pipe_tells_its_figures_to_stats_and_its_sums_to_the_log(
    store: Path, tmp_path: Path
) -> None:
    with (tmp_path / "stderr").open("wb") as stderr, serving(store, stderr=stderr, **ENVIRONMENT) as pipe:
        pipe.shake_hands()
        pipe.call(2, "kb_search", query="backups")
        pipe.call(3, "kb_search", query="backups")
        pipe.call(4, "kb_read_excerpt", passage_id="unknown")
        (told,) = stats(store, "--json")["servers"]
        shown = stats(store)
        pid = pipe.process.pid
        mode = (store / "run" / endpoint.server_socket_name(pid)).stat().st_mode
        assert pipe.close() == 0
    assert (told["pid"], told["transport"], told["project"]) == (pid, "stdio", "handbook")
    assert told["calls"]["kb.search"]["verdicts"] == {"ok": 2}
    assert told["calls"]["kb.read_excerpt"]["verdicts"] == {"NOT_FOUND": 1}
    assert sum(told["calls"]["kb.search"]["within"]) == 2
    assert told["queue"].items() >= {"running": 0, "waiting": 0}.items()
    assert f"process {pid} serves handbook on stdio" in shown
    assert "3 calls (1 NOT_FOUND, 2 ok)" in shown
    assert stat.S_IMODE(mode) == 0o600
    assert stats(store, "--json")["servers"] == []
    assert not (store / "run" / endpoint.server_socket_name(pid)).exists()
    last = json.loads((tmp_path / "stderr").read_text().splitlines()[-1])
    assert (last["message"], last["calls"], last["verdicts"]) == ("stats at the end", 3, {"NOT_FOUND": 1, "ok": 2})


def _ask_alone(home: Path, address: str, key: Path) -> str:
    """What the command prints where there is no store."""
    environment = {**ENVIRONMENT, "HOME": str(home), "XDG_DATA_HOME": str(home / "data")}
    environment.pop("WINNOW_STORE", None)
    command = [WINNOW, "stats", "--http", address, "--key-file", key]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@linux
def test_a_server_on_http_has_metrics_and_is_found_by_its_store(store: Path, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    process = subprocess.Popen(
        [WINNOW, "serve", "--store", store, "--http", address], stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    try:
        health = _fetch(address, "/health")
        text = _fetch(address, "/metrics")
        found = [one for one in stats(store, "--json", "--http", address)["servers"] if one["pid"] == process.pid]
        key, key_text = new_key("operator", int(time.time()))
        add_key(store, key, int(time.time()))
        refused = CliRunner().invoke(stats_app, ["--store", str(store), "--http", address])
        (tmp_path / "key").write_text(f"{key_text}\n", "ascii")
        admitted = stats(store, "--json", "--http", address, "--key-file", str(tmp_path / "key"))["server"]
        alone = _ask_alone(tmp_path, address, tmp_path / "key")
        few, few_text = new_key("few", int(time.time()), projects=("default", "handbook"))
        add_key(store, few, int(time.time()))
        (tmp_path / "few").write_text(f"{few_text}\n", "ascii")
        status_alone = _ask_alone(tmp_path, address, tmp_path / "few")
    finally:
        process.terminate()
        lines = process.communicate()[1].decode().splitlines()
        (store / KEYS_FILE).unlink(missing_ok=True)
    assert (refused.exit_code, "needs a key; name a file with one (--key-file FILE)" in refused.stderr) == (
        2,
        True,
    )
    assert admitted["status"] == "ok"
    assert [f"the server at {address} (winnow " in shown for shown in (alone, status_alone)] == [True, True]
    assert ("0 calls (none)" in alone, "its status alone, ok" in status_alone) == (True, True)
    assert "0 calls" not in status_alone
    (announced,) = (json.loads(line)["addresses"] for line in lines if '"addresses"' in line)
    assert announced == [f"http://{address}/mcp"]
    assert json.loads(health)["queue"].items() >= {"running": 0, "waiting": 0}.items()
    assert text.endswith("# EOF\n")
    assert 'winnow_queue_scripts{state="waiting"} 0' in text.splitlines()
    assert [one["transport"] for one in found] in ([], ["http"])  # found as soon as it has begun to load


def _fetch(address: str, path: str) -> str:
    """A page of a server that may still be starting."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://{address}{path}", timeout=60) as answer:
                return str(answer.read().decode())
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


@linux
def test_a_socket_that_a_dead_server_left_is_put_away(tmp_path: Path) -> None:
    listener = endpoint.open_listener(tmp_path, endpoint.server_socket_name(99))
    assert endpoint.list_server_sockets(tmp_path) == ["server-99.sock"]
    listener.socket.close()
    assert ask_servers(tmp_path) == []
    assert endpoint.list_server_sockets(tmp_path) == []
    assert ask_servers(tmp_path / "nowhere") == []


def test_the_line_of_the_log_sums_the_figures_up() -> None:
    figures = Metrics()
    figures.count_answer("help", 10, 40, failed=False)
    figures.count_answer("kb.search", 30, 90, failed=True)
    figures.count_call("help", "ok", 0.1)
    figures.count_call("kb.search", "TIMEOUT", 0.1)
    told = summarize_metrics(figures.snapshot())
    assert (told["calls"], told["tokens"], told["largest_tokens"]) == (2, 40, 30)
    assert told["verdicts"] == {"TIMEOUT": 1, "ok": 1}
