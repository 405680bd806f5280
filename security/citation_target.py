"""Bibliographies made to harm, their ingest, and what ``winnow cite`` prints of them, for ``bibliographies``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from winnow.security.surface import winnow

STYLES = ("pandoc", "apa", "bibtex", "csl-json", "markdown")
_PAGE = "# Lanterns\n\nA lantern burns oil until the morning, says this page.\n"


def ingest_works(works: Sequence[Mapping[str, Any]], pages: Mapping[str, str] | None = None) -> str:
    """Ingest pages with these works of CSL-JSON as their bibliography; all that the command says.

    A work without a file becomes a document of its own. Raises if nothing was ingested.
    """
    folder = Path("documents")
    folder.mkdir()
    for name, text in (pages or {"page.md": _PAGE}).items():
        (folder / name).write_text(text, "utf-8")
    Path("library.json").write_text(json.dumps(list(works)), "utf-8")
    done = winnow("ingest", "documents", "--references", "library.json", "--store", "store")
    if not Path("store").exists():
        raise RuntimeError(done.stderr.decode())
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def citations(*query: str) -> dict[str, str]:
    """The output of ``winnow cite`` in each style for the documents with these names, or for a query."""
    said: dict[str, str] = {}
    for style in STYLES:
        done = winnow("cite", *query, "--style", style, "--store", "store")
        said[style] = (done.stdout + done.stderr).decode("utf-8", "replace")
    return said
