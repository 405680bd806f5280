"""The log lines of ``winnow serve --http`` at its start: its address, what it serves and what lacks for that."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import closing, suppress

from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import catalogue_path
from winnow.server.errors import WinnowError
from winnow.server.runtime.logs import log
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.records import AccessKey
from winnow.server.transports.access.http_access import Certificate, HttpAccess
from winnow.server.transports.http import PATH

_WARNING = 30
_NAMED = 10  # keys and projects that warnings name


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
    for key in _useless_keys(settings, access)[:_NAMED]:
        log(
            f"key {key.name!r} reaches none of the projects served, so its requests are refused; serve one of its "
            f"own, or add a key: winnow key add NAME --projects {','.join(settings.reachable[:_NAMED])}",
            level=_WARNING,
            key=key.id,
            reaches=list(key.projects),
        )
    _warn_of_empty_projects(settings)


def _host_and_port(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _useless_keys(settings: Settings, access: HttpAccess) -> list[AccessKey]:
    """The valid keys that reach no project of this server."""
    served = set(settings.reachable)
    return [key for key in access.keys.active_keys() if key.projects and not served.intersection(key.projects)]


def _warn_of_empty_projects(settings: Settings) -> None:
    """Log a warning for each project in reach without documents; it names those of the store that have some."""
    filled = _filled_projects(settings)
    if filled is None:
        return
    others = [name for name in filled if name not in settings.reachable]
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    advice = f"; projects of this store with documents: {', '.join(others[:_NAMED])}{more}" if others else ""
    serving = f", or serve another: --projects {','.join(others[:_NAMED])}" if others else ""
    for project in settings.reachable:
        if project not in filled:
            log(
                f"project {project!r} has no documents{advice}; index some: winnow ingest PATH --project "
                f"{project}{serving}",
                level=_WARNING,
                project=project,
            )


def _filled_projects(settings: Settings) -> list[str] | None:
    """The projects of the store that hold documents; None if that cannot be read."""
    path = catalogue_path(settings)
    if not path.exists():
        return []
    with suppress(WinnowError), closing(Catalogue(path)) as catalogue:  # of a damaged one the first call tells
        return [info.name for info in catalogue.projects()]
    return None
