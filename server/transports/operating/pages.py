"""The pages of an HTTP server for its operator: ``/health``, ``/health/live``, ``/health/ready``, ``/metrics``.

The counters of a server are of all its clients, so a key for some projects does not read them. Probes have no key:
``live`` and ``ready`` answer without one (``authentication.py``), and then say nothing but whether it is so, and
where no key can be used, that too: every request is told this.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from winnow import __version__
from winnow.server.runtime.draining import Drain
from winnow.server.runtime.metrics import Metrics
from winnow.server.runtime.reports.openmetrics import CONTENT_TYPE, format_open_metrics
from winnow.server.runtime.reports.readiness import Readiness
from winnow.server.runtime.sessions.identities import identity_of
from winnow.server.transports.access.authentication import IS_PROBE
from winnow.server.transports.sessions import KEY_NAME

_PROBE_HEADERS: Mapping[str, str] = {"cache-control": "no-store"}


async def _always_ready() -> None:
    """For a server without a store to open."""


async def _no_figures() -> dict[str, Any]:
    """For a server that counts nothing."""
    return {}


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of a server that the pages show, and those of its transport.

    ``health``: all its figures. ``figures``: by name, figures that a transport adds to them.
    """

    health: Callable[[], Awaitable[dict[str, Any]]] = _no_figures
    metrics: Metrics = field(default_factory=Metrics)
    drain: Drain = field(default_factory=Drain)
    readiness: Readiness = field(default_factory=lambda: Readiness(_always_ready, Drain()))
    figures: dict[str, Callable[[], Mapping[str, Any]]] = field(default_factory=dict)


def build_pages(operations: Operations) -> list[Route]:
    """The routes of the pages."""

    async def show_health(request: Request) -> JSONResponse:
        counters = {} if _is_confined(request) else await operations.health()
        return JSONResponse({"status": "ok", "version": __version__, **counters})

    async def show_metrics(request: Request) -> Response:
        if _is_confined(request):
            message = "a key for some projects does not read the metrics of all; use a key without --projects"
            return JSONResponse({"error": {"status": 403, "message": message}}, 403)
        return Response(format_open_metrics(await operations.health()), media_type=CONTENT_TYPE)

    async def show_live(request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"}, headers=_PROBE_HEADERS)

    async def show_ready(request: Request) -> JSONResponse:
        reasons = await operations.readiness.reasons()
        state = "not ready" if reasons else "ready"
        is_outsider = request.scope.get(IS_PROBE) or _is_confined(request)
        told = operations.readiness.public_reasons() if is_outsider else reasons
        shown = {} if is_outsider and not told else {"reasons": list(told)}
        return JSONResponse({"status": state, **shown}, 503 if reasons else 200, _PROBE_HEADERS)

    return [
        Route("/health", show_health),
        Route("/health/live", show_live),
        Route("/health/ready", show_ready),
        Route("/metrics", show_metrics),
    ]


def _is_confined(request: Request) -> bool:
    return bool(identity_of(request.scope.get(KEY_NAME, "")).projects)
