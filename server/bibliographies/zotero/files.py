"""Places of the files of a library on this machine, and which of them may be read.

Names and paths come from the library, so they are checked before any file is looked at: a stored file is directly
in its folder of the storage, which is no link; a linked file is in the user's own library, and no folder of its
path is hidden. A path is resolved once, before it is checked, and the file is opened without following links.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from winnow.server.bibliographies.zotero.objects import ZoteroObject

STORED_MODES = frozenset({"imported_file", "imported_url"})
LINKED_MODE = "linked_file"
EMBEDDED_MODE = "embedded_image"  # a picture in a note
LINKED_BASE = "attachments:"
_PATH_CHARS = 4_000
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")

_NO_NAME = "it has no file"
_BAD_NAME = "its path is not that of a file in Zotero"
_ABSENT = "not downloaded"
_NOT_FOUND = "not found"
_NOT_REGULAR = "not a regular file"
_OF_GROUP = "linked file of a group"
_ELSEWHERE = "a path of another system"
_NO_BASE = "relative to a base folder that is not known"
_HIDDEN = "in a hidden folder"
_LINKED_FOLDER = "in a folder of the storage that is a link"


@dataclass(frozen=True, slots=True)
class FilePlaces:
    """The places of files: the data folder of Zotero, and the base folder of linked files, if there is one."""

    data: Path
    linked: Path | None = None


def find_file(attachment: ZoteroObject, places: FilePlaces, *, is_group: bool) -> tuple[Path | None, str]:
    """The file of an attachment by its resolved path, or None and the reason."""
    stated = attachment.path
    if not stated:
        return None, _NO_NAME
    if len(stated) > _PATH_CHARS or _CONTROLS.search(stated):
        return None, _BAD_NAME
    if attachment.link_mode in STORED_MODES:
        return _stored(attachment.key, stated, places)
    return (None, _OF_GROUP) if is_group else _linked(stated, places)


def _stored(key: str, name: str, places: FilePlaces) -> tuple[Path | None, str]:
    if "/" in name or "\\" in name or name.startswith("."):
        return None, _BAD_NAME
    # The storage as a whole may be a link, to another disk; a folder in it that is one leads out of it.
    folder = _resolve(places.data / "storage") / key
    return _check(folder / name, _ABSENT) if _resolve(folder) == folder else (None, _LINKED_FOLDER)


def _linked(stated: str, places: FilePlaces) -> tuple[Path | None, str]:
    if _WINDOWS.match(stated):
        return None, _ELSEWHERE
    base = Path("/")
    if stated.startswith(LINKED_BASE):
        if places.linked is None:
            return None, _NO_BASE
        base, stated = places.linked, stated.removeprefix(LINKED_BASE)
    elif not stated.startswith("/"):
        return None, _BAD_NAME
    relative = PurePosixPath(stated.lstrip("/"))
    if ".." in relative.parts or not relative.name:
        return None, _BAD_NAME
    if _is_hidden(relative):
        return None, _HIDDEN
    folder = _resolve((base / relative).parent)
    # A link to a folder may lead to a hidden one.
    if _leads_to_hidden(folder, _resolve(base)):
        return None, _HIDDEN
    return _check(folder / relative.name, _NOT_FOUND)


def _check(path: Path, absent: str) -> tuple[Path | None, str]:
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError):
        return None, absent
    return (path, "") if stat.S_ISREG(mode) else (None, _NOT_REGULAR)


def _leads_to_hidden(folder: Path, base: Path) -> bool:
    return _is_hidden(folder.relative_to(base) if folder.is_relative_to(base) else folder)


def _resolve(path: Path) -> Path:
    """The path without links; unlike ``Path.resolve``, also for a link that leads back to itself."""
    return Path(os.path.realpath(path))


def _is_hidden(path: PurePosixPath | Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
