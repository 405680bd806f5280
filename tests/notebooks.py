"""Servers of notebooks in this process, for tests: over shared backends, over HTTP, and one that says anything."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
from mcp import Client

from tests.serving import OPEN, serve
from winnow.server.backends.opening import Backends
from winnow.server.commands.entry.app import Application
from winnow.server.operations.knowledge import KnowledgeBase
from winnow.server.settings.settings import Settings
from winnow.server.transports.access.http_access import HttpAccess
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.facade.service import FacadeService
from winnow.server.transports.protocol import build_server

_SECONDS = 60


class Kept:
    """Backends that several servers use, at once or one after another; ``parts`` stand for parts of them."""

    def __init__(self, backends: Backends, parts: Mapping[str, Any]) -> None:
        self._backends, self._parts = backends, parts

    def __getattr__(self, name: str) -> Any:
        return self._parts[name] if name in self._parts else getattr(self._backends, name)

    def close(self) -> None:
        """Leave them open for the others."""


@asynccontextmanager
async def application_over(
    settings: Settings, backends: Backends, **parts: Any
) -> AsyncIterator[tuple[Application, KnowledgeBase]]:
    """A server over these backends, without a door."""
    kb = KnowledgeBase(lambda: Kept(backends, parts), settings)
    application = Application(settings, kb)
    try:
        yield application, kb
    finally:
        await application.close()


@asynccontextmanager
async def serving(
    settings: Settings, backends: Backends, **parts: Any
) -> AsyncIterator[tuple[Client, KnowledgeBase]]:
    """A server over these backends, and a client of it."""
    async with application_over(settings, backends, **parts) as (application, kb):
        dispatcher = Dispatcher(application.context, settings)
        async with Client(build_server(dispatcher, application)) as client:
            yield client, kb


@asynccontextmanager
async def serving_http(
    settings: Settings, backends: Backends, access: HttpAccess = OPEN, **parts: Any
) -> AsyncIterator[httpx2.AsyncClient]:
    """A server over these backends with its façade, and a client of it."""
    async with application_over(settings, backends, **parts) as (application, _):
        dispatcher = Dispatcher(application.context, settings)
        server, facade = build_server(dispatcher, application), FacadeService(dispatcher, application)
        async with (
            serve(server, access=access, facade=facade) as (host, port),
            httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=_SECONDS) as http,
        ):
            yield http


@contextmanager
def anything(answers: Mapping[str, Any], asked: list[Mapping[str, str]] | None = None) -> Iterator[str]:
    """The address of a server that answers a path, without its query, as ``answers`` say.

    An answer is a value to send as JSON, or (status, headers, bytes). ``asked`` gets the headers of each request.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", "0")))
            if asked is not None:
                asked.append(dict(self.headers.items()))
            found = answers.get(self.path.partition("?")[0], (404, {}, b"{}"))
            status, headers, body = found if isinstance(found, tuple) else (200, {}, json.dumps(found).encode())
            self.send_response(status)
            for name, value in {"content-length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PATCH = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
