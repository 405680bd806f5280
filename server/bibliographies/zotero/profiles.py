"""Finds Zotero's data folder and the base folder of linked files, from the preferences of its profiles.

Zotero's own choice counts: the data folder that the preferences name where they say that it is used, else
``~/Zotero``. Of several profiles the default one counts.
"""

from __future__ import annotations

import configparser
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeGuard

from winnow.server.bibliographies.zotero.database import DATABASE
from winnow.server.bibliographies.zotero.files import FilePlaces
from winnow.server.errors import WinnowError

# Where profiles are, below the home folder; other systems have theirs as Linux does.
_PROFILES: Mapping[str, tuple[str, ...]] = {
    "darwin": ("Library/Application Support/Zotero",),
    "win32": ("AppData/Roaming/Zotero/Zotero",),
}
_UNIX_PROFILES = (
    ".zotero/zotero",
    ".var/app/org.zotero.Zotero/.zotero/zotero",  # Flatpak
    "snap/zotero-snap/common/.zotero/zotero",
)
_PREFERENCE = re.compile(r'^user_pref\("extensions\.zotero\.(\w{1,60})", (.{1,4000})\);\s*$', re.MULTILINE)
_MOST_BYTES = 4 * 1024**2
_NOT_FOUND = (
    "no Zotero on this machine: neither a profile of it nor {usual} was found; name its data folder (the one with "
    "{name}) with --data-folder"
)


def find_places(data_folder: Path | None = None, home: Path | None = None) -> FilePlaces:
    """The data folder and the base folder of linked files.

    A given data folder counts; the profile that uses it has the base folder. Raises ``WinnowError`` where there is
    no Zotero.
    """
    home = home or Path.home()
    usual = home / "Zotero"
    found = [(_data_folder(preferences, usual), preferences) for preferences in _profiles(home)]
    if data_folder is not None:
        of_it = (preferences for folder, preferences in found if _is_same(folder, data_folder))
        return FilePlaces(data_folder.absolute(), _base_folder(next(of_it, {})))
    for folder, preferences in [*found, (usual, {})]:
        if (folder / DATABASE).is_file():
            return FilePlaces(folder, _base_folder(preferences))
    raise WinnowError("NOT_FOUND", _NOT_FOUND.format(usual=usual, name=DATABASE))


def _profiles(home: Path) -> Iterator[Mapping[str, object]]:
    """The preferences of each profile, those of default profiles first."""
    for below in _PROFILES.get(sys.platform, _UNIX_PROFILES):
        for folder in _profile_folders(home / below):
            if text := _read(folder / "prefs.js"):
                yield read_preferences(text)


def _profile_folders(folder: Path) -> list[Path]:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        parser.read_string(_read(folder / "profiles.ini"))
    except configparser.Error:
        return []
    profiles = [parser[name] for name in parser.sections() if "path" in parser[name]]
    profiles.sort(key=lambda profile: profile.get("default") != "1")
    return [
        folder / profile["path"] if profile.get("isrelative") == "1" else Path(profile["path"])
        for profile in profiles
    ]


def read_preferences(text: str) -> dict[str, object]:
    r"""The preferences of Zotero in the text of a file prefs.js, by name.

    >>> read_preferences('user_pref("extensions.zotero.dataDir", "C:\\\\Zotero");')
    {'dataDir': 'C:\\Zotero'}
    """
    found: dict[str, object] = {}
    for match in _PREFERENCE.finditer(text):
        try:
            found[match[1]] = json.loads(match[2])
        except (ValueError, RecursionError):
            continue
    return found


def _data_folder(preferences: Mapping[str, object], usual: Path) -> Path:
    stated = preferences.get("dataDir")
    return Path(stated) if preferences.get("useDataDir") is True and _is_path(stated) else usual


def _base_folder(preferences: Mapping[str, object]) -> Path | None:
    stated = preferences.get("baseAttachmentPath")
    return Path(stated) if _is_path(stated) else None


def _is_path(stated: object) -> TypeGuard[str]:
    return isinstance(stated, str) and "\0" not in stated and Path(stated).is_absolute()


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _read(path: Path) -> str:
    """The text of a file, "" where there is none."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):  # a name with a NUL
        return ""
