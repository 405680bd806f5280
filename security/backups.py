"""Backups made by hand, and their restoring into a store with a project, for the attacks ``backups``."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from winnow.security.surface import winnow

PARTS: Mapping[str, bytes] = MappingProxyType(
    {"projects.json": b'{"projects": [{"name": "brought", "settings": {"top_k": 3}}]}', "keys.json": b"{}"}
)


def write_backup(
    parts: Mapping[str, bytes] = PARTS,
    *,
    manifest: Mapping[str, Any] = MappingProxyType({}),
    unlisted: Mapping[str, bytes] = MappingProxyType({}),
    modes: Mapping[str, int] = MappingProxyType({}),
) -> Path:
    """Write ``hostile.backup`` with these parts, the digests that they have, and entries that it does not list."""
    facts = {name: {"bytes": len(data), "digest": sha256(data).hexdigest()} for name, data in parts.items()}
    stated = {"format": "winnow-backup", "version": 1, "made_at": "2026-01-01T00:00:00Z", "entries": facts}
    path = Path("hostile.backup")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        written = {"manifest.json": json.dumps({**stated, **manifest}).encode(), **parts, **unlisted}
        for name, data in written.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = modes.get(name, 0o644) << 16
            archive.writestr(entry, data)
    return path


def restore() -> str:
    """Restore ``hostile.backup``, replacing what is there, into the store with the project ``own``; its answer."""
    if not Path("store").exists():
        done = winnow("project", "create", "own", "--store", "store")
        if done.returncode:
            raise RuntimeError(done.stderr.decode())
    done = winnow("restore", "hostile.backup", "--store", "store", "--replace")
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def projects() -> list[str]:
    """The projects of the store."""
    listed = json.loads(winnow("project", "list", "--store", "store", "--json").stdout)
    return [row["name"] for row in listed["projects"]]
