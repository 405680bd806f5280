"""A store with two projects of which a server reaches one, for the attacks ``research``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from winnow.security.surface import winnow

# A server of the project "mine".
SERVER = MappingProxyType(
    {"store": "store", "project": "mine", "daemon": "off", "embedding": "off", "graph": "off", "tools": "research"}
)
# In every name and word of the page of the project "theirs".
SECRET = "volcano"
PAGES: Mapping[str, str] = MappingProxyType(
    {
        "mine": "---\ncitekey: harbour1827\nstage: beta\n---\n# Harbour\n\nA harbour with a lantern.\n",
        "theirs": f"---\ncitekey: {SECRET}1827\nstage: {SECRET}s\n---\n"
        f"# {SECRET.title()}\n\nA {SECRET} at night.\n",
    }
)


def ingest_both() -> None:
    """Ingest a page into each of the two projects. Raises if that fails."""
    for project, text in PAGES.items():
        folder = Path(project)
        folder.mkdir()
        (folder / f"{'harbour' if project == 'mine' else SECRET}.md").write_text(text, "utf-8")
        done = winnow("ingest", project, "--store", "store", "--project", project)
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
