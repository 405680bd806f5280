"""Project archives made by hand, and their import into a store with a project, for the attacks ``archives``."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from winnow.security.surface import winnow

PAGE: Mapping[str, Any] = MappingProxyType(
    {"uri": "new.md", "type": "markdown", "title": "New", "text": "# New\n\nA lantern from an archive.\n"}
)
_OWN_PAGE = "# Own\n\nA harbour of the user's own.\n"


def write_archive(
    documents: Sequence[Mapping[str, Any]] = (PAGE,),
    *,
    entries: Mapping[str, bytes] = MappingProxyType({}),
    manifest: Mapping[str, Any] = MappingProxyType({}),
    project: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """Write ``hostile.zip`` with these documents, each entry as it should be but for what is given."""
    lines = b"".join(json.dumps(dict(each)).encode() + b"\n" for each in documents)
    stated = {"format": "winnow-project", "version": 1, "project": "brought", "documents": len(documents)}
    written = {
        "documents.jsonl": lines,
        "project.json": json.dumps({"settings": {}, **project}).encode(),
        "manifest.json": json.dumps({**stated, "digest": sha256(lines).hexdigest(), **manifest}).encode(),
    }
    path = Path("hostile.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**written, **entries}.items():
            archive.writestr(name, data)
    return path


def import_archive(*arguments: str) -> str:
    """Import ``hostile.zip`` into the store, which has the project ``own`` with one page; what that says."""
    if not Path("store").exists():
        Path("documents").mkdir()
        Path("documents", "own.md").write_text(_OWN_PAGE, "utf-8")
        done = winnow("ingest", "documents", "--store", "store", "--project", "own")
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
    done = winnow("project", "import", "hostile.zip", "--store", "store", *arguments)
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def projects() -> dict[str, int]:
    """The number of documents of each project that a user sees."""
    listed = json.loads(winnow("project", "list", "--store", "store", "--json").stdout)
    return {row["name"]: row["documents"] for row in listed["projects"]}


def own_page_is_there() -> bool:
    """Whether a search of the project ``own`` still finds its page, and nothing of the archive."""
    found = [
        winnow("search", word, "--store", "store", "--project", "own").stdout for word in ("harbour", "lantern")
    ]
    return b"own.md" in found[0] and b"new.md" not in b"".join(found)
