"""A listener on loopback for attacks that have the product connect to a server of the attacker's choice."""

from __future__ import annotations

import socket
import threading
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from winnow.security.surface import winnow

_SECONDS = 2.0
_COMMANDS = (("ingest", "notes"), ("search", "backups"), ("doctor",))


def is_contacted(act: Callable[[int], object]) -> bool:
    """Whether anything connects to a port of ours while ``act(port)`` runs."""
    received: list[bytes] = []

    def listen(server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                connection.settimeout(_SECONDS)
                with connection, suppress(OSError):
                    received.append(connection.recv(65_536))

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=listen, args=(server,), daemon=True).start()
        act(server.getsockname()[1])
    return received != []


def request(port: int) -> None:
    """The unprotected equivalent: a request to that port."""
    with suppress(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=_SECONDS)


def run_with_settings(settings: str, environment: Mapping[str, str]) -> None:
    """Ingest, search and run the doctor in a working folder whose ``winnow.toml`` holds ``settings``."""
    Path("notes").mkdir(exist_ok=True)
    Path("notes/one.md").write_text("# One\n\nA private sentence about backups.\n")
    Path("winnow.toml").write_text(settings)
    for command in _COMMANDS:
        winnow(*command, environment=environment)
