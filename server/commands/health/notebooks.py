"""The check of the server that keeps the notebooks of claims, where the setting ``notebook_url`` names one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from winnow.server.commands.terminal.findings import Check, Finding
from winnow.server.errors import WinnowError
from winnow.server.settings.settings import Settings

_ADVICE = (
    "start that server with --tools claims and the project, check WINNOW_NOTEBOOK_TOKEN, or unset "
    "WINNOW_NOTEBOOK_URL to keep notebooks in the store"
)


def _server(settings: Settings) -> Iterator[Finding]:
    """Whether the server answers with the notebook of the project."""
    if settings.notebook_url is None:
        return
    from winnow.server.backends.opening import open_claim_library

    with closing(open_claim_library(settings)) as library:
        try:
            library.remote_notebook.ask("GET", settings.project, "/status")
        except WinnowError as error:
            yield Finding("backends", "notebooks", False, error.message, _ADVICE)
        else:
            detail = f"{settings.notebook_url} keeps the notebook of {settings.project}"
            yield Finding("backends", "notebooks", True, detail)


CHECKS: tuple[Check, ...] = (_server,)
