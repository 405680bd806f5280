"""A library of Zotero as a row of a list, in JSON and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:
    from winnow.server.bibliographies.zotero.records import ZoteroLibrary


def describe_library(library: ZoteroLibrary) -> dict[str, Any]:
    """A library as JSON data: what it has, and which of its files are here."""
    files = [file for work in library.works for file in work.files]
    missing = Counter(file.missing for file in files if file.path is None)
    return {
        "id": library.id,
        "name": library.name,
        "works": len(library.works),
        "files_here": len(files) - missing.total(),
        "files_missing": dict(missing.most_common()),
        "notes": sum(len(work.notes) for work in library.works),
        "annotations": sum(len(file.annotations) for file in files),
        "collections": sorted({name for work in library.works for name in work.item.collections}),
        "flaws": [{"key": flaw.name, "reason": flaw.reason} for flaw in library.flaws],
    }


def format_row(row: dict[str, Any]) -> Iterator[str]:
    """The lines of what ``describe_library`` returned."""
    missing = "".join(f", {count:,} {reason}" for reason, count in row["files_missing"].items())
    notes, marks = count_of(row["notes"], "note"), count_of(row["annotations"], "annotation")
    name = f"{one_line(row['name'])} ({row['id']}): {count_of(row['works'], 'work')}"
    yield f"{name}; files: {row['files_here']:,} here{missing}; {notes}, {marks}"
    if row["collections"]:
        yield f"  collections: {'; '.join(map(one_line, row['collections']))}"
    if row["flaws"]:
        objects = count_of(len(row["flaws"]), "object is", "objects are")
        yield f"  {objects} not as expected; --json names them"
