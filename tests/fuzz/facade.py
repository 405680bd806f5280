"""Checks a running façade with programs of others: its OpenAPI document, and its answers to generated requests.

    make fuzz-facade SECONDS=600

openapi-spec-validator judges the document. schemathesis makes requests from it and looks for answers of 5xx, and
for statuses, types, headers and bodies that the document does not describe. The target installs both in an
environment of their own: ``--programs`` is its folder of programs.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from tests.two_projects import BLUE, RED, make_store

_CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance"
_CHECKS += ",response_schema_conformance"
_MANY = "100000"
_START_SECONDS = 60


def main() -> int:
    """Run both programs; returns 0 if neither finds anything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--programs", type=Path, required=True)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make_store(Path(folder))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        with subprocess.Popen(_serve(Path(folder), address), stderr=subprocess.DEVNULL) as server:
            try:
                document = Path(folder, "openapi.json")
                document.write_bytes(_fetch(f"http://{address}/openapi.json"))
                return max(subprocess.call(each) for each in _judges(asked, document, f"http://{address}"))
            finally:
                server.terminate()


def _serve(folder: Path, address: str) -> list[str]:
    limits = [f"--{kind}-per-minute" for kind in ("calls", "reads", "scripts")]
    served = ["--store", str(folder / "store"), "--project", RED, "--projects", f"{RED},{BLUE}", "--http", address]
    winnow = str(Path(sys.executable).with_name("winnow"))
    options = ["--tools", "all,research,core,claims", "--enable-writes", "--embedding", "off"]
    return [winnow, "serve", *served, *options, *(word for limit in limits for word in (limit, _MANY))]


def _judges(asked: argparse.Namespace, document: Path, url: str) -> list[list[str]]:
    schemathesis = [str(asked.programs / "schemathesis"), "run", str(document), "--url", url, "--checks", _CHECKS]
    bounds = ["--max-time", str(asked.seconds), "--phases", "fuzzing", "--continue-on-failure"]
    return [[str(asked.programs / "openapi-spec-validator"), str(document)], [*schemathesis, *bounds]]


def _fetch(url: str) -> bytes:
    until = time.monotonic() + _START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=_START_SECONDS) as answer:
                body: bytes = answer.read()
                return body
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
