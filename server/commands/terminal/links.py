"""Addresses of files that rows are from, for people: a terminal or a browser opens them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from winnow.server.bibliographies.locators import address_of
from winnow.server.models import Document, Filters
from winnow.server.settings.settings import Settings

_PAGE = re.compile(r"#page=\d+\Z")


def add_urls(settings: Settings, rows: Iterable[dict[str, Any]], id_field: str) -> None:
    """Add ``url`` to rows whose files are on this machine; ``id_field``: the id of a row's passage or document."""
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path

    rows = [row for row in rows if id_field in row]
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        passages = catalogue.passages([row[id_field] for row in rows], settings.project)
        documents = {id: passage.document for id, passage in passages.items()}
        for id in {row[id_field] for row in rows} - documents.keys():
            for document in catalogue.find_documents(Filters(settings.project), id):
                if id in (document.id, document.uri):
                    documents[id] = document
    for row in rows:
        known = documents.get(row[id_field])
        if known and (url := file_url(known, str(row.get("link", "")))):
            row["url"] = url


def file_url(document: Document, link: str = "") -> str | None:
    """The address of the file that a document is from, None if that is not below its source any more.

    ``link`` is the link of a row; the address is of its page.
    """
    path = document.uri
    if (address := address_of(document)) != path:
        return link or address
    # A record is named by its file and its number.
    names = (path, path.rpartition("#")[0]) if document.type == "record" else (path,)
    file = next((found for name in names if name and (found := _find_file(document.source, name))), None)
    page = _PAGE.search(link) if document.type == "pdf" else None
    return None if file is None else file.as_uri() + (page[0] if page else "")


def _find_file(source: str, name: str) -> Path | None:
    folder = Path(source)
    try:
        # An imported project states its own sources and paths: the file has to be below the folder.
        is_below = (folder / name).resolve().is_relative_to(folder.resolve())
        return folder / name if folder.is_absolute() and is_below and (folder / name).is_file() else None
    except (OSError, ValueError):
        return None
