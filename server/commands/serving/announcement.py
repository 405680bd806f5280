"""What ``winnow serve --http`` logs when it starts: its address and what it serves, and what lacks for that."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import closing, suppress

from server.backends.catalogue import Catalogue
from server.errors import WinnowError
from server.opening import catalogue_path
from server.runtime.logs import log
from server.settings import Settings
from server.transports.access.http_access import Certificate, HttpAccess
from server.transports.http import PATH

_WARNING = 30


def announce(
    settings: Settings, listeners: Sequence[socket.socket], access: HttpAccess, certificate: Certificate
) -> None:
    """Log the addresses, the projects, the number of valid keys and the tools; then a warning for what lacks."""
    scheme = "http" if certificate.file is None else "https"
    log(
        "serving MCP clients over HTTP",
        addresses=[f"{scheme}://{_host_and_port(listener)}{PATH}" for listener in listeners],
        projects=list(settings.reachable),
        project=settings.project,
        valid_keys=access.keys.active_count,
        tools=list(settings.tools),
    )
    if access.keys.is_needed and not access.keys.active_count and access.tokens is None:
        log("no key is valid, so every request is refused; add one: winnow key add NAME", level=_WARNING)
    for project in _empty_projects(settings):
        log(
            f"project {project!r} has no documents; index some: winnow ingest PATH --project {project}",
            level=_WARNING,
            project=project,
        )


def _host_and_port(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _empty_projects(settings: Settings) -> list[str]:
    """The projects in reach that hold no documents."""
    path = catalogue_path(settings)
    if not path.exists():
        return list(settings.reachable)
    with suppress(WinnowError), closing(Catalogue(path)) as catalogue:  # of a damaged one the first call tells
        filled = {info.name for info in catalogue.projects()}
        return [name for name in settings.reachable if name not in filled]
    return []
