"""The settings as they apply to one client: those of the server, narrowed by the rights of its access key."""

from __future__ import annotations

from typing import Any

from winnow.server.errors import WinnowError
from winnow.server.runtime.sessions.identities import identity_of
from winnow.server.settings.settings import Settings


def settings_for(settings: Settings, connection: str) -> Settings:
    """The settings for the client with this connection. A key narrows them and never widens them.

    Raises ``WinnowError("SCOPE_VIOLATION")`` for a key that reaches none of the server's projects.
    """
    identity = identity_of(connection)
    narrower: dict[str, Any] = {}
    if identity.is_read_only:
        narrower["enable_writes"] = False
    if identity.projects:
        common = tuple(name for name in settings.reachable if name in identity.projects)
        if not common:
            raise WinnowError(
                "SCOPE_VIOLATION",
                "this key reaches none of the projects of this server; ask its operator for another key",
            )
        narrower["projects"] = common
        narrower["project"] = settings.project if settings.project in common else common[0]
    return settings.model_copy(update=narrower) if narrower else settings
