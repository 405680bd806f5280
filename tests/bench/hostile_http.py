"""Hostile HTTP clients against a server of its own: what each is answered, and how long another client waits.

    python -m tests.bench.hostile_http --json

Serves a small store with keys on loopback, and keeps one client asking with a key on one connection. Beside it run
attacks: wrong, revoked, expired and misplaced keys, ten thousand wrong keys, slow heads, two thousand connections,
bodies of 100 MB, requests that a proxy and a server could read differently, and other hosts and origins on every
route. A row has the statuses of an attack's answers (0: closed without one), and the waits of that client
meanwhile.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from types import MappingProxyType
from typing import Annotated, Any

import typer
from rich.table import Table

from tests.bench.command_line import command_line
from winnow.security.loopback_servers import add_key, bearer, make_store, request_head, serve_product
from winnow.security.surface import winnow
from winnow.server.commands.benchmarks.figures import percentiles
from winnow.server.commands.terminal.output import Json, print_json, report_errors
from winnow.server.commands.terminal.screen import Screen

EXAMPLES = (
    "Examples: python -m tests.bench.hostile_http | python -m tests.bench.hostile_http --wrong-keys 1000 --json"
)
HOST = "host: localhost"
ROUTES = (
    *("/mcp", "/health", "/health/live", "/health/ready", "/metrics", "/openapi.json", "/mcp/discover"),
    *(
        "/mcp/tool/kb_search",
        "/v1/search",
        "/v1/plan",
        "/notebooks/p/observe",
        "/.well-known/oauth-protected-resource",
        "/nowhere",
    ),
)
_SECONDS = 20.0
_PAUSE_SECONDS = 0.02
_LOADING_SECONDS = 5.0
_MANY_BYTES = 100 * 1024 * 1024
_PART = b"x" * 65_536
Statuses = Counter[int]
# A request with a second one in its body or behind it, as a proxy in front could pass it on.
SMUGGLED = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
_SIZE = len(SMUGGLED)
SHAPES: Mapping[str, str] = MappingProxyType(
    {
        "length and chunks": f"content-length: {_SIZE}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{SMUGGLED}",
        "two lengths": f"content-length: 0\r\ncontent-length: {_SIZE}\r\n\r\n{SMUGGLED}",
        "a list of lengths": f"content-length: 0, {_SIZE}\r\n\r\n{SMUGGLED}",
        "a signed length": f"content-length: +0\r\n\r\n{SMUGGLED}",
        "a negative length": f"content-length: -1\r\n\r\n{SMUGGLED}",
        "an unknown coding": f"transfer-encoding: xchunked\r\n\r\n{SMUGGLED}",
        "two codings": f"transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n{SMUGGLED}",
        "a blank before the colon": f"content-length : {_SIZE}\r\n\r\n{SMUGGLED}",
        "a folded line": f"x: y\r\n content-length: {_SIZE}\r\n\r\n{SMUGGLED}",
        "a size of a chunk with a sign": f"transfer-encoding: chunked\r\n\r\n+0\r\n\r\n{SMUGGLED}",
        "a zero byte in a header": f"x: a\0b\r\ncontent-length: 0\r\n\r\n{SMUGGLED}",
    }
)


def run(
    wrong_keys: Annotated[int, typer.Option(help="wrong keys in a row")] = 10_000,
    connections: Annotated[int, typer.Option(help="connections at once")] = 2_000,
    as_json: Json = False,
) -> None:
    """Attack a server over HTTP, and measure how long another client waits."""
    with report_errors(as_json=as_json):
        rows = measure(wrong_keys, connections)
        if as_json:
            print_json({"attacks": rows})
        else:
            show_rows(rows)


def measure(wrong_keys: int, connections: int) -> list[dict[str, Any]]:
    """One row for each attack, in the order in which they run: those that block the address come last."""
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            make_store()
            keys = {name: add_key(name) for name in ("victim", "revoked")}
            keys["other project"] = add_key("other", "--projects", "elsewhere")
            keys["expired"] = add_key("expired", "--expires", _soon())
            winnow("key", "revoke", "revoked", "--store", "store")
            with serve_product() as port:
                _ask(port, "/health", HOST, bearer(keys["victim"]))
                time.sleep(_LOADING_SECONDS)  # the first answer makes the server load the store
                attacks = _attacks(keys, wrong_keys, connections)
                return [_attack(port, name, attack, keys) for name, attack in attacks]
        finally:
            os.chdir(home)


def _soon() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 2))


def _attacks(
    keys: Mapping[str, str], wrong_keys: int, connections: int
) -> Iterator[tuple[str, Callable[[int], Statuses]]]:
    good = bearer(keys["victim"])
    yield "nothing", lambda port: _ask(port, "/health", HOST, good)
    yield "key of another project", lambda port: _ask(port, "/health", HOST, bearer(keys["other project"]))
    yield "key in the URL", lambda port: _ask(port, f"/health?api_key={keys['victim']}", HOST, good)
    yield "other hosts, every route", lambda port: _on_every_route(port, "host: evil.example", good)
    yield (
        "other origins, every route",
        lambda port: _on_every_route(port, HOST, "origin: https://evil.example", good),
    )
    for name, shape in SHAPES.items():
        yield f"smuggling: {name}", lambda port, shape=shape: _smuggle(port, shape, good)  # type: ignore[misc]
    yield "body of 100 MB", lambda port: _send_large(port, f"content-length: {_MANY_BYTES}", good)
    yield "body of 100 MB in chunks", lambda port: _send_large(port, "transfer-encoding: chunked", good)
    yield "100 slow heads", lambda port: _send_slowly(port, 100)
    yield f"{connections:,} connections", lambda port: _connect(port, connections)
    yield "no key, every route", lambda port: _on_every_route(port, HOST)
    yield "revoked key", lambda port: _ask(port, "/health", HOST, bearer(keys["revoked"]))
    yield "expired key", lambda port: _ask(port, "/health", HOST, bearer(keys["expired"]))
    yield f"{wrong_keys:,} wrong keys", lambda port: _try_keys(port, wrong_keys)


def _attack(port: int, name: str, attack: Callable[[int], Statuses], keys: Mapping[str, str]) -> dict[str, Any]:
    with _asking(port, keys["victim"]) as waits:
        began = time.monotonic()
        statuses = attack(port)
        seconds = time.monotonic() - began
        time.sleep(max(0.0, 1.0 - seconds))  # some waits for each
    shown = {str(status): count for status, count in sorted(statuses.items())}
    others = {"calls": len(waits), **percentiles(waits), "max": round(max(waits, default=0.0), 1)}
    return {"attack": name, "answers": shown, "seconds": round(seconds, 1), "other_client_ms": others}


@contextmanager
def _asking(port: int, key: str) -> Iterator[list[float]]:
    """A client that asks on one connection all the time; the milliseconds that each answer took."""
    waits: list[float] = []
    over, ready = threading.Event(), threading.Event()

    def ask() -> None:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
        while not over.is_set():
            began = time.perf_counter()
            client.request("GET", "/health/live", headers={"Authorization": f"Bearer {key}"})
            answer = client.getresponse()
            answer.read()
            assert answer.status == http.client.OK
            if ready.is_set():
                waits.append((time.perf_counter() - began) * 1_000)
            ready.set()
            time.sleep(_PAUSE_SECONDS)
        client.close()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    assert ready.wait(_SECONDS)
    yield waits
    over.set()
    thread.join()


def _exchange(port: int, sent: bytes) -> Statuses:
    """The statuses of all answers to these bytes; 0 for none."""
    received = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), _SECONDS) as client:
        client.sendall(sent)
        while part := client.recv(65_536):
            received += part
    return Counter(int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", received)) or Counter([0])


def _ask(port: int, path: str, *lines: str) -> Statuses:
    return _exchange(port, request_head(path, *lines))


def _on_every_route(port: int, *lines: str) -> Statuses:
    return sum((_ask(port, route, *lines) for route in ROUTES), Counter())


def _smuggle(port: int, shape: str, key: str) -> Statuses:
    """A request of this shape with a valid key. The one inside has none, so an answer to it is a 401, or a 200."""
    return _exchange(port, f"POST /health HTTP/1.1\r\n{HOST}\r\n{key}\r\nconnection: close\r\n{shape}".encode())


def _send_large(port: int, size: str, key: str) -> Statuses:
    head = request_head("/mcp", HOST, key, "content-type: application/json", size, method="POST")
    is_chunked = "chunked" in size
    part = b"%x\r\n%s\r\n" % (len(_PART), _PART) if is_chunked else _PART
    received = b""
    with socket.create_connection(("127.0.0.1", port), _SECONDS) as client:
        client.sendall(head)
        with suppress(OSError):
            for _ in range(_MANY_BYTES // len(_PART)):
                client.sendall(part)
        with suppress(OSError):
            received = client.recv(65_536)
    return Counter(int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)) or Counter([0])


def _send_slowly(port: int, count: int) -> Statuses:
    """Heads of which a byte comes each half second, until they are answered or closed."""
    found: Statuses = Counter()
    with ExitStack() as held:
        clients = [
            held.enter_context(socket.create_connection(("127.0.0.1", port), _SECONDS)) for _ in range(count)
        ]
        open_clients, until = list(clients), time.monotonic() + 2 * _SECONDS
        while open_clients and time.monotonic() < until:
            for client in list(open_clients):
                client.setblocking(False)
                with suppress(BlockingIOError):
                    try:
                        client.send(b"G")
                        answer = client.recv(4_096)
                    except OSError as error:
                        if isinstance(error, BlockingIOError):
                            raise
                        answer = b""
                    status = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
                    found[int(status[1]) if status else 0] += 1
                    open_clients.remove(client)
            time.sleep(0.5)
        found[-1] += len(open_clients)
    return +found


def _connect(port: int, count: int) -> Statuses:
    """Connections that send nothing, all open at once: those that stay are counted as 200."""
    found: Statuses = Counter()
    with ExitStack() as held:
        clients = []
        for _ in range(count):
            with suppress(OSError):
                clients.append(held.enter_context(socket.create_connection(("127.0.0.1", port), _SECONDS)))
        time.sleep(1.0)
        for client in clients:
            client.setblocking(False)
            try:
                status = re.match(rb"HTTP/1\.1 (\d{3}) ", client.recv(4_096))
                found[int(status[1]) if status else 0] += 1
            except BlockingIOError:
                found[200] += 1
            except OSError:
                found[0] += 1
    return found


def _try_keys(port: int, count: int) -> Statuses:
    found: Statuses = Counter()
    for number in range(count):
        found += _ask(port, "/health", HOST, bearer(f"winnow_{number:08x}_{number:064x}"))
    return found


def show_rows(rows: list[dict[str, Any]]) -> None:
    """Print a table for people."""
    table = Table("attack", "answers", "seconds", "another client waits: p50", "p99", "at most")
    for row in rows:
        answers = ", ".join(f"{count:,} x {status}" for status, count in row["answers"].items())
        waits = row["other_client_ms"]
        figures = (f"{waits[name]:.1f} ms" for name in ("p50", "p99", "max"))
        table.add_row(row["attack"], answers, str(row["seconds"]), *figures)
    Screen(highlight=False).print(table)


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app(prog_name="python -m tests.bench.hostile_http")
