"""Servers of notebooks in this process, for tests: over backends that several of them share, and over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client

from server.app import Application
from server.knowledge import KnowledgeBase
from server.opening import Backends
from server.settings import Settings
from server.transports.access.http_access import HttpAccess
from server.transports.dispatch import Dispatcher
from server.transports.facade.service import FacadeService
from server.transports.protocol import build_server
from tests.serving import OPEN, serve

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
    settings: Settings, backends: Backends, access: HttpAccess = OPEN, **headers: str
) -> AsyncIterator[httpx2.AsyncClient]:
    """A server over these backends with its façade, and a client that sends ``headers``."""
    async with application_over(settings, backends) as (application, _):
        dispatcher = Dispatcher(application.context, settings)
        server, facade = build_server(dispatcher, application), FacadeService(dispatcher, application)
        async with (
            serve(server, access=access, facade=facade) as (host, port),
            httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=_SECONDS, headers=headers) as http,
        ):
            yield http
