"""Consoles that attacks ask, as a page of another site or a program of another user can."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote

from winnow import SEARCH_PATH
from winnow.security.loopback_servers import request_head, send_raw
from winnow.security.surface import ALONE

_WINNOW = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from winnow.server.commands.entry.cli import main; main()"
)
_ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)/enter\?token=([\w-]+)")
_OPTIONS = ("--store", "store", "--project", "p", "--no-browser")
PAGES = (
    *("/", "/?q=canary+sings", "/documents", "/documents/health", "/document?id=one.md", "/page?document=one.md"),
    *("/graph", "/claims", "/tools", "/scripts", "/savings", "/sources", "/settings", "/doctor"),
)
OPEN = 200
_SECONDS = 50.0


@dataclass(slots=True)
class AskedConsole:
    """A console that listens, with its token, which nobody has used yet.

    ``root``: the secret path of its pages, known once the token was used. Attacks that know it are the stronger.
    """

    port: int
    token: str
    root: str = ""

    @property
    def host(self) -> str:
        """The header line of a browser that shows it."""
        return f"host: 127.0.0.1:{self.port}"

    def ask(self, path: str, *lines: str, method: str = "GET") -> tuple[int, str]:
        """The status and the body of the answer to a request with exactly these header lines, under the root."""
        status, body = send_raw(self.port, request_head(f"{self.root}{path}", *lines, method=method))
        return status, body.decode("utf-8", "replace")

    def enter(self) -> str:
        """Use the token; the header line with the cookie that it gives. Raises where it gives none."""
        answer = send_whole(self.port, request_head(f"/enter?token={self.token}", self.host))
        cookie = re.search(rb"set-cookie: ([^;\r]+)[^\r]*; path=(/[^;\r]*)/[;\r]", answer, re.IGNORECASE)
        if cookie is None:
            raise RuntimeError("the console does not let its user in")
        self.root = cookie[2].decode()
        return f"cookie: {cookie[1].decode()}"

    def is_open(self, *lines: str, method: str = "GET") -> bool:
        """Whether a request with these header lines gets any page."""
        return any(self.ask(path, *lines, method=method)[0] == OPEN for path in PAGES)


def send_whole(port: int, sent: bytes) -> bytes:
    """The whole answer to raw bytes, with its head."""
    with socket.create_connection(("127.0.0.1", port), _SECONDS) as client:
        client.sendall(sent)
        received = b""
        while chunk := client.recv(65_536):
            received += chunk
    return received


@contextmanager
def serve_console(*options: str) -> Iterator[AskedConsole]:
    """Run ``winnow console`` over the store in the working folder."""
    here = os.getcwd()
    homes = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), here)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    command = [sys.executable, "-I", "-B", "-c", _WINNOW, SEARCH_PATH, "console", *_OPTIONS, *options]
    with subprocess.Popen(
        command, env={**kept, **homes, **ALONE}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            assert process.stdout is not None
            printed = _ADDRESS.search(process.stdout.readline())
            if printed is None:
                raise RuntimeError("the console does not start")
            yield AskedConsole(int(printed[1]), printed[2].decode())
        finally:
            process.kill()


def in_query(text: str) -> str:
    """A text as a value in the query of an address."""
    return quote(text, safe="")
