"""``winnow claims list`` and ``show`` over a server that keeps the notebooks (setting ``notebook_url``)."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from winnow.server.commands.terminal.operation import run_operation
from winnow.server.settings.settings import Settings

_PAGE, _MOST = 50, 100_000


def list_remote_entries(settings: Settings, topic: str) -> list[dict[str, Any]]:
    """The entries of the project's notebook in the order of their last changes, as rows of ``wild_claims``.

    Raises ``WinnowError`` as ``HttpNotebook.ask`` does.
    """
    from winnow.server.backends.opening import open_claim_library
    from winnow.server.contracts.claims.answers import ChangeRow, ClaimsEntry
    from winnow.server.operations.claims.foreign_answers import read_rows

    prefix, last = topic.strip("/"), 0
    ids: dict[str, None] = {}
    with closing(open_claim_library(settings)) as library:
        ask, project = library.remote_notebook.ask, settings.project
        while len(ids) < _MOST:
            query = {"since_sequence": last, "limit": _PAGE}
            changes = read_rows(ChangeRow, ask("GET", project, "/observe", query), "changes", _PAGE)
            if not changes or changes[-1]["sequence"] <= last:
                break
            last = changes[-1]["sequence"]
            for change in changes:
                ids.pop(change["entry_id"], None)
                ids[change["entry_id"]] = None
        wanted, found = list(ids), []
        for at in range(0, len(wanted), _PAGE):
            body = {"entry_ids": wanted[at : at + _PAGE]}
            found += read_rows(ClaimsEntry, ask("POST", project, "/claims/batch", body=body), "entries", _PAGE)
    return [row for row in found if not prefix or f"{row['topic']}/".startswith(f"{prefix}/")]


def show_remote_entry(settings: Settings, name: str, *, as_json: bool) -> None:
    """Print an entry as ``wild_read`` answers it: its quotes are looked for in the documents here."""
    from winnow.server.operations.claims.rendering import render_read

    run_operation(settings, "claims.read", {"entry_id": name}, render_read, as_json=as_json)
