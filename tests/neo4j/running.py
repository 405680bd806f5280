"""A real Neo4j server for the tests: the community edition from Maven Central, on this machine's own Java.

``WINNOW_NEO4J_URL`` (with ``WINNOW_NEO4J_USER`` and ``WINNOW_NEO4J_PASSWORD``) names one that runs already.
Otherwise one is started where ``WINNOW_TEST_NEO4J`` is set, as ``make test-rare`` does: ``pom.xml`` says what a
server consists of, Maven brings it into the user's own repository (128 MB, once), and ``Server.java`` starts it on
a free port of the loopback with an empty database.
"""

from __future__ import annotations

import os
import pwd
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# The first run downloads, each later one asks Maven offline and takes about two seconds.
_FETCH_SECONDS = 180
# It takes seconds on an idle machine; this one may be busy.
_START_SECONDS = 120
# For a short run: only the fast compiler, and a collector without threads.
_QUICK = ("-Xmx1g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@contextmanager
def neo4j_server(jvm: Sequence[str] = _QUICK) -> Iterator[str]:
    """The URL of a running server; skips with the reason where none can run."""
    if url := os.environ.get("WINNOW_NEO4J_URL", ""):
        yield url
        return
    if not os.environ.get("WINNOW_TEST_NEO4J"):
        pytest.skip("make test-rare starts Neo4j, which takes two minutes; or set WINNOW_NEO4J_URL")
    if missing := [program for program in ("java", "javac", "mvn") if shutil.which(program) is None]:
        pytest.skip(f"Neo4j needs {', '.join(missing)}; or set WINNOW_NEO4J_URL")
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    if not os.access(home, os.W_OK):
        pytest.skip("this user has no home folder for what Maven brings; or set WINNOW_NEO4J_URL")
    with tempfile.TemporaryDirectory(prefix="winnow-neo4j-") as folder:
        yield from _running(["java", *jvm, "-cp", _classpath(Path(folder))], Path(folder))


def _classpath(folder: Path) -> str:
    target = folder / "classpath"
    command = ["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:build-classpath"]
    command.append(f"-Dmdep.outputFile={target}")
    for offline in (["-o"], []):
        try:
            done = subprocess.run([*command, *offline], capture_output=True, text=True, timeout=_FETCH_SECONDS)
        except subprocess.TimeoutExpired:
            pytest.skip(f"Maven did not bring Neo4j within {_FETCH_SECONDS} s; or set WINNOW_NEO4J_URL")
        if done.returncode == 0:
            return target.read_text(encoding="utf-8").strip()
    pytest.skip(f"Maven cannot bring Neo4j: {done.stdout.strip()[-300:]}")


def _running(java: Sequence[str], folder: Path) -> Iterator[str]:
    command = [*java, str(HERE / "Server.java"), str(folder / "data")]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            yield f"bolt://127.0.0.1:{_port(process, folder / 'log')}"
        finally:
            process.kill()  # its data is in the folder; it ends when its input closes


def _port(process: subprocess.Popen[str], log: Path) -> int:
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(process, lines), daemon=True).start()
    try:
        while not (line := lines.get(timeout=_START_SECONDS)).startswith("port "):
            if not line:
                break
    except queue.Empty:
        line = ""
    assert line, f"Neo4j did not start: {log.read_text(encoding='utf-8')[-2000:]}"
    return int(line.split()[1])


def _listen(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put("")
