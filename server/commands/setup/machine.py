"""The machine that clients are set up on, as data: its system, the user's folders, and the paths that they make.

Everything about paths takes a ``Machine``, so that the layouts of macOS and Windows are tested on any system.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from winnow.server.errors import WinnowError


class System(StrEnum):
    """The operating systems whose layouts are known, by the names of ``sys.platform``."""

    LINUX = "linux"
    MACOS = "darwin"
    WINDOWS = "win32"


@dataclass(frozen=True, slots=True)
class Machine:
    """A system, the home folder of its user, and the variables of the environment."""

    system: System
    home: Path
    variables: Mapping[str, str]

    def folders(self) -> dict[str, Path]:
        """The folders that the paths of clients begin with, by their names in those paths."""
        roaming = self._folder("APPDATA", "AppData/Roaming")
        config = self._folder("XDG_CONFIG_HOME", ".config")
        desktop = {
            System.LINUX: config,
            System.MACOS: self.home / "Library" / "Application Support",
            System.WINDOWS: roaming,
        }
        return {
            "home": self.home,
            "config": config,
            "desktop": desktop[self.system],
            "roaming": roaming,
            "local": self._folder("LOCALAPPDATA", "AppData/Local"),
            "codex": self._folder("CODEX_HOME", ".codex"),
            "claude": self._folder("CLAUDE_CONFIG_DIR", ""),
            "claude_home": self._folder("CLAUDE_CONFIG_DIR", ".claude"),
        }

    def _folder(self, variable: str, usual: str) -> Path:
        given = self.variables.get(variable, "")
        return Path(given) if Path(given).is_absolute() else self.home / usual

    def paths(self, template: str) -> Iterator[Path]:
        """The paths of a template such as ``{home}/.cursor/mcp.json``.

        Folders with a star stand for each one of that name that there is.
        """
        first, *rest, name = template.split("/")
        folder = self.folders()[first.strip("{}")]
        folders = sorted(folder.glob("/".join(rest))) if "*" in template else [folder.joinpath(*rest)]
        yield from (each / name for each in folders)


def this_machine() -> Machine:
    """The machine that this process runs on. Systems that are not known have the layout of Linux.

    Raises ``WinnowError("INVALID_REQUEST")`` where its home folder is not known, or not for this user.
    """
    system = System(sys.platform) if sys.platform in set(System) else System.LINUX
    return Machine(system, _home(), os.environ)


def _home() -> Path:
    try:
        home = Path.home()
    except RuntimeError:  # no HOME, and no account of this user
        home = Path()
    if not home.is_absolute():
        raise WinnowError("INVALID_REQUEST", "the home folder is not known; set HOME to its absolute path")
    # As with sudo: root's server would leave files in the store that their user cannot open any more.
    if hasattr(os, "geteuid") and os.geteuid() == 0 and home.exists() and home.stat().st_uid != 0:
        raise WinnowError(
            "INVALID_REQUEST", f"{home} belongs to another user; run setup as that user, without sudo"
        )
    return home


_NO_SCRIPTS: Mapping[System, str] = {
    system: "Scripts (execute_code) need the kernel walls of Linux: run winnow "
    f"{place}, which takes memory and has every wall, or with --sandbox monty, a smaller Python without them."
    for system, place in (
        (System.MACOS, "in a container or a Linux virtual machine"),
        (System.WINDOWS, "in WSL 2 or a container"),
    )
}


def describe_scripts(system: System) -> str:
    """The sentence about scripts on a system that has no walls for them; "" for Linux."""
    return _NO_SCRIPTS.get(system, "")
