"""Reads skills, prompt packs and tool packs from the operator's folders.

They decide what agents can do and what models read, so a file that another user owns or may write is refused.
Files that are installed with winnow are not checked: who can write them can change the code of this process.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

_NO_WORDS: Mapping[tuple[str, str], str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A folder, or a file or an entry of one, that is not offered, and why."""

    what: str
    why: str


def explain_refusal(error: ValidationError, words: Mapping[tuple[str, str], str] = _NO_WORDS) -> str:
    """The first reason why a file does not fit its model, with the place in the file.

    ``words`` replaces the text of the validation, by field and kind of error.
    """
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"])) or "the file"
    name = str(first["loc"][-1]) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        return f"{place}: there is no field {name!r} here"
    return f"{place}: {words.get((name, first['type']), first['msg'])}"


def check_writers(path: Path, status: os.stat_result) -> None:
    """Raise ``PermissionError`` if a user other than this one and root may write there."""
    if sys.platform == "win32":
        return
    if status.st_uid not in (0, os.geteuid()):
        raise PermissionError(f"another user owns it: {path}; own it yourself, or have root own it")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"others may write it: chmod go-w {path}")


def check_below(folder: Path, name: str) -> None:
    """Raise ``PermissionError`` for a link on the way from an operator's folder to a file, and loose folders.

    A link may point to a file outside of the folder, which would then be read and shown.
    """
    path = folder
    for part in Path(name).parts:
        path = path / part
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            raise PermissionError(f"it is a symbolic link: {path}; put the file itself there")
        check_writers(path, status)


class UnusableText(ValueError):
    """A file is too large, or not text; the message says which, and does not name it."""


def read_operator_file(path: Path, most: int, *, is_ours: bool) -> str:
    """The text of a file of at most ``most`` bytes.

    ``is_ours``: it is installed with winnow. Raises ``OSError``, ``UnusableText``, and ``PermissionError`` for a
    file that others may write, and for what is no regular file.
    """
    # Opened first, so that the file that is checked is the one that is read. O_NONBLOCK: opening a pipe must not
    # hang.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not is_ours:
            check_writers(path, status)
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError(f"it is not a file: {path}")
        data = file.read(most + 1)
    if len(data) > most:
        raise UnusableText(f"it is larger than {most // 1024} KiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UnusableText("it is not UTF-8") from None
