"""Profiles that grant winnow all walls: for AppArmor, and for the system-call filter of a container."""

from __future__ import annotations

import re
import sys
from importlib.resources import files
from pathlib import Path

from winnow.server.errors import WinnowError

_FOLDER = files("winnow.server") / "data" / "host_profiles"
_PLACE = "@PROGRAM@"
# AppArmor reads others as patterns, variables or the end of the path.
_PLAIN_PATH = re.compile(r"/[\w ./+~-]*", re.ASCII)


def seccomp_profile() -> str:
    """The filter as JSON, in the format of Docker, Podman and Kubernetes."""
    return (_FOLDER / "seccomp.json").read_text(encoding="utf-8")


def apparmor_profile(program: Path) -> str:
    """The profile for the program at this path. WinnowError for a path that AppArmor reads otherwise."""
    path = str(program.resolve())
    if not _PLAIN_PATH.fullmatch(path):
        raise WinnowError(
            "INVALID_REQUEST",
            f"the path of winnow has characters with a meaning in profiles: {path!r}; install it elsewhere",
        )
    return (_FOLDER / "apparmor.txt").read_text(encoding="utf-8").replace(_PLACE, path)


def find_program() -> Path:
    """The program ``winnow`` of this installation."""
    return Path(sys.executable).parent / "winnow"
