"""Runs the tests again as an ordinary user, where they ran as root; everything after the name goes to pytest.

Root passes checks that others do not: what holds for a server of root must hold for one of nobody, and the other
way round. Nothing on the disk changes: the checkout is only read; homes, caches and temporary files lie in a
folder of that user's own. Where interpreter or checkout lie in a folder that only root enters, this process sees
another file tree, in which the way to them is open.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOBODY = 65_534

_CLONE_NEWNS = 0x20000
_MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
_PR_SET_DUMPABLE = 4
_ASIDE = Path("/mnt")  # hidden in our own view while we rearrange it


def main(arguments: Sequence[str]) -> int:
    """Become an ordinary user and run pytest; the exit code."""
    if sys.platform != "linux" or os.geteuid() != 0:
        print("as an ordinary user: that is what the tests just ran as")
        return 0
    home = Path(tempfile.mkdtemp(prefix="winnow-ordinary-"))
    os.chown(home, NOBODY, NOBODY)
    try:
        child = os.fork()
        if child == 0:
            _become(home)
            _run_pytest(home, arguments)
        _, status = os.waitpid(child, 0)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return os.waitstatus_to_exitcode(status)


def _become(home: Path) -> None:
    needed = [path.resolve() for path in (ROOT, Path(sys.prefix), Path(sys.base_prefix))]
    open_the_way(sorted(set(needed)))
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    # Changing user made /proc/self root's.
    _libc().prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    if unreachable := [str(path) for path in needed if not os.access(path, os.R_OK | os.X_OK)]:
        sys.exit(f"as an ordinary user: no way to {', '.join(unreachable)}")


def _run_pytest(home: Path, arguments: Sequence[str]) -> None:
    (home / "tmp").mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SSL_CERT_FILE") if name in os.environ}
    environment = {
        **kept,
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(home / "hypothesis"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    os.chdir(ROOT)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    os.execve(sys.executable, command, environment)


# --- a file tree of our own ------------------------------------------------------------------------------------


def closed_folders(paths: Sequence[Path]) -> Iterator[tuple[Path, list[Path]]]:
    """Each folder on the way that others may not enter, the outermost, with the paths behind it."""
    behind: dict[Path, list[Path]] = {}
    for path in paths:
        closed = next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)
        if closed is not None:
            behind.setdefault(closed, []).append(path)
    yield from behind.items()


def open_the_way(paths: Sequence[Path]) -> None:
    """In a view of this process's own, make each of these reachable for everybody."""
    closed = list(closed_folders(paths))
    if not closed:
        return
    libc = _libc()
    _checked(libc.unshare(_CLONE_NEWNS))
    _mount(None, Path("/"), _MS_REC | _MS_PRIVATE)
    for folder, kept in closed:
        _mount("tmpfs", _ASIDE, 0)
        for number, path in enumerate(kept):
            (_ASIDE / str(number)).mkdir()
            _mount(str(path), _ASIDE / str(number), _MS_BIND | _MS_REC)
        _mount("tmpfs", folder, 0)
        for number, path in enumerate(kept):
            path.mkdir(parents=True, exist_ok=True)
            _mount(str(_ASIDE / str(number)), path, _MS_BIND | _MS_REC)


def _mount(source: str | None, target: Path, flags: int) -> None:
    kind = b"tmpfs" if source == "tmpfs" else None
    data = b"mode=755" if kind else None
    _checked(_libc().mount(source.encode() if source else None, str(target).encode(), kind, flags, data))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
