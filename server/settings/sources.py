"""The sources of settings: flags, the environment, the operator's or the user's file, the working folder's file.

This module does not know what a setting means. Every value has the rank and the place of its source;
``permissions.py`` beside it says which ranks may set what. The nearest source comes first::

    FLAG           --store DIR
    ENVIRONMENT    WINNOW_STORE=DIR
    OPERATOR_FILE  the file named by WINNOW_CONFIG
    USER_FILE      winnow.toml in the user's configuration folder, if WINNOW_CONFIG is not set
    FOLDER_FILE    winnow.toml in the working folder. It may come from somebody else, so errors in it are ignored
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from winnow.server.errors import WinnowError

FILE_NAME = "winnow.toml"
MOST_BYTES = 256 * 1024  # a file with every setting and a thousand projects is smaller


class SourceRank(IntEnum):
    """The rank of a source by its nearness to the command: a smaller rank wins."""

    FLAG = 0
    ENVIRONMENT = 1
    OPERATOR_FILE = 2
    USER_FILE = 3
    FOLDER_FILE = 4


@dataclass(frozen=True, slots=True)
class SourcedValue:
    """A value and its source. ``place``, for display: the flag, the variable or the path of the file."""

    name: str
    value: Any = field(hash=False)
    rank: SourceRank
    place: str


@dataclass(frozen=True, slots=True)
class IgnoredValue:
    """A value, or a whole file (``name`` is ""), that was ignored."""

    name: str
    place: str
    why: str


Source = Sequence[SourcedValue]


def config_file() -> Path:
    """The trusted file: the one named by ``WINNOW_CONFIG``, otherwise the user's."""
    if named := os.environ.get("WINNOW_CONFIG"):
        return Path(named).expanduser()
    return user_file()


def user_file() -> Path:
    """The user's own configuration file, whether it exists or not."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "winnow" / FILE_NAME


def sources(
    names: Iterable[str], flags: Mapping[str, Any], also: Mapping[str, str]
) -> tuple[list[Source], list[IgnoredValue]]:
    """The values of each source, nearest first, and the files that could not be read.

    ``also``: further environment variables by setting. Raises ``WinnowError("INVALID_REQUEST")`` if the trusted
    file cannot be read.
    """
    folder, ignored = _folder_file()
    return [_flags(flags), _environment(names, also), _trusted_file(), folder], ignored


def _flags(flags: Mapping[str, Any]) -> Source:
    given = {name: value for name, value in flags.items() if value is not None}
    return [
        SourcedValue(name, value, SourceRank.FLAG, f"--{name.replace('_', '-')}") for name, value in given.items()
    ]


def _environment(names: Iterable[str], also: Mapping[str, str]) -> Source:
    variables = [*((name, f"WINNOW_{name.upper()}") for name in names), *also.items()]
    return [
        SourcedValue(name, value, SourceRank.ENVIRONMENT, variable)
        for name, variable in variables
        if (value := os.environ.get(variable))
    ]


def _trusted_file() -> Source:
    path = config_file()
    rank = SourceRank.OPERATOR_FILE if os.environ.get("WINNOW_CONFIG") else SourceRank.USER_FILE
    try:
        values = _read(path)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise WinnowError("INVALID_REQUEST", f"settings: {path}: {error}") from None
    return [SourcedValue(name, value, rank, str(path)) for name, value in values.items()]


def _folder_file() -> tuple[Source, list[IgnoredValue]]:
    path = Path(FILE_NAME)
    try:
        if path.exists() and config_file().exists() and path.samefile(config_file()):
            return [], []
        values = _read(path)
    except FileNotFoundError:
        return [], []
    except (OSError, ValueError) as error:
        return [], [IgnoredValue("", str(path.absolute()), str(error))]
    return [
        SourcedValue(name, value, SourceRank.FOLDER_FILE, str(path.absolute())) for name, value in values.items()
    ], []


def _read(path: Path) -> dict[str, Any]:
    """The values of a TOML file. Raises ``OSError``, and ``ValueError`` if it is too large or not TOML."""
    # O_NONBLOCK: opening a named pipe would otherwise hang every command in that folder.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("is not a file")
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"has more than {MOST_BYTES:,} bytes")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("is nested too deep") from None
