"""Whether the files of an index are as they were written: their sizes and digests, noted when a writer is done.

Theory of operation. A *seal* is a file in a folder that says how long other files of it are and what their digests
are::

    an ingest begins to write     the seal is broken (taken away), and that is on the disk before the first change
    it is done                    all is flushed, then the files are sealed anew
    somebody opens the files      every size is compared at once, for a map of a file that is too short kills its
                                  reader; digests of the smallest files too, up to ``IMMEDIATE_BYTES``; the rest
                                  follows while searches go on
    the engine of the vectors     repeats on opening what its log holds, which changes files: while it does, the
                                  seal is laid aside, and then it says what is there now
    winnow doctor                 compares everything

What does not agree raises ``WinnowError("INDEX_UNAVAILABLE")`` that names the file. What an ingest that was killed
left has no seal and is opened as it is: the next ingest brings it in line and seals it. The digest is a checksum
against failing disks and cut off copies; who may write the files may write the seal, too.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from server.backends.files.descriptors import DescriptorUse
from server.errors import WinnowError
from server.runtime.logs import log

NAME = "seal.json"
IMMEDIATE_BYTES = 64 << 20
# Commands are over by then, and what a server is asked first is not slower.
_LATER_SECONDS = 2.0
_BLOCK = 1 << 16
_NOTHING = bytes(_BLOCK)
# The engine takes this file away when it opens the index, for all of it is in the file beside it by then.
_MAY_BE_GONE = "tracker_journal.dat"


@dataclass(frozen=True, slots=True)
class _Noted:
    """A file as it was written."""

    bytes: int
    digest: int


@dataclass(frozen=True, slots=True)
class SealFlaw:
    """A file that is not as it was written: its name below the sealed folder, and what is wrong with it."""

    file: str
    why: str


def write(folder: Path, files: Iterable[Path]) -> None:
    """Seal these files of the folder. The caller is their only writer, and they are on the disk."""
    _write(folder, {str(file.relative_to(folder)): _noted(file) for file in files})


@contextmanager
def keep_sealed(folder: Path, files: Callable[[], Iterable[Path]]) -> Iterator[None]:
    """Around what may change sealed files although nothing is written to the index; ``files`` are all afterwards.

    What was not touched keeps what was noted of it. Killed meanwhile, the folder has no seal.
    """
    before = {name: (one, _touched(folder / name)) for name, one in (_read(folder) or {}).items()}
    if before:
        with suppress(OSError):
            (folder / NAME).unlink()
    yield
    if before:
        with suppress(OSError):  # a disk that is full: without a seal it opens, too
            _write(folder, {str(file.relative_to(folder)): _after(folder, file, before) for file in files()})


def _after(folder: Path, file: Path, before: Mapping[str, tuple[_Noted, tuple[int, int] | None]]) -> _Noted:
    former, when = before.get(str(file.relative_to(folder)), (None, None))
    if former and when == _touched(file):
        return former
    now = _noted(file)
    if now != former:  # the seal must not be on the disk before it
        _to_disk(file)
    return now


def _touched(file: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        status = file.stat()
        return status.st_size, status.st_mtime_ns
    return None


def _write(folder: Path, noted: Mapping[str, _Noted]) -> None:
    body = json.dumps({name: asdict(one) for name, one in sorted(noted.items())})
    made = folder / f".{NAME}"
    made.write_text(json.dumps({"check": zlib.crc32(body.encode()), "files": body}), "utf-8")
    os.replace(made, folder / NAME)


def unseal(folder: Path) -> bool:
    """Break the seal, if there is one, so that it is gone for good; whether there was one."""
    try:
        (folder / NAME).unlink()
    except FileNotFoundError:
        return False
    _to_disk(folder)
    return True


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_sealed(folder: Path) -> bool:
    """Whether there is a seal."""
    return (folder / NAME).exists()


def find_flaws(folder: Path, names: Collection[str] = ()) -> list[SealFlaw]:
    """Everything that is not as it was written; of these files only, where any are named."""
    seal = _read(folder)
    if seal is None:
        return [SealFlaw(NAME, "it cannot be read")] if is_sealed(folder) else []
    noted = {name: one for name, one in seal.items() if not names or name in names}
    found = list(_wrong_sizes(folder, noted))
    wrong = {flaw.file for flaw in found}
    found += _wrong_digests(folder, {name: one for name, one in noted.items() if name not in wrong})
    return found if _read(folder) == seal else []  # a writer came meanwhile


class SealCheck:
    """Compares files with their seal: at once what must be right for them to be opened, the rest after ``start``.

    ``names``: these files only. ``damage`` makes the error of a file that is not as it was written. The
    constructor raises it, and so does ``raise_damage`` once it is known.
    """

    def __init__(
        self, folder: Path, damage: Callable[[Path, str], WinnowError], names: Collection[str] = ()
    ) -> None:
        self._folder, self._damage = folder, damage
        self._found: SealFlaw | None = None
        self._is_over = threading.Event()
        seal = _read(folder) or {}
        noted = {name: one for name, one in seal.items() if not names or name in names}
        now, later = _divided(folder, noted)
        self._found = next(_wrong_sizes(folder, noted), None) or next(_wrong_digests(folder, now), None)
        if self._found and _read(folder) != seal:  # a writer came meanwhile
            self._found = None
        self.raise_damage()
        self._later = tuple(later)

    def start(self) -> None:
        """Compare the rest, beside searches."""
        seal = _read(self._folder) or {}
        later = {name: seal[name] for name in self._later if name in seal}
        if later:
            threading.Thread(target=self._go_on, args=(seal, later), name="winnow-seal", daemon=True).start()

    def raise_damage(self) -> None:
        """Raise what was found."""
        if self._found is not None:
            raise self._damage(self._folder / self._found.file, self._found.why)

    def close(self) -> None:
        """Stop comparing."""
        self._is_over.set()

    def _go_on(self, seal: Mapping[str, _Noted], later: Mapping[str, _Noted]) -> None:
        if self._is_over.wait(_LATER_SECONDS):
            return
        for flaw in _wrong_digests(self._folder, later, self._is_over.is_set):
            if self._is_over.is_set() or _read(self._folder) != seal:
                return
            log("a file of the index is damaged", level=50, file=str(self._folder / flaw.file), why=flaw.why)
            self._found = flaw
            return


def _divided(folder: Path, noted: Mapping[str, _Noted]) -> tuple[dict[str, _Noted], dict[str, _Noted]]:
    """What is compared at once, the smallest first, and what later."""
    sizes = {name: _bytes_on_disk(folder / name) for name in noted}
    now, later, total = dict[str, _Noted](), dict[str, _Noted](), 0
    for name in sorted(noted, key=sizes.__getitem__):
        total += sizes[name]
        (now if total <= IMMEDIATE_BYTES else later)[name] = noted[name]
    return now, later


def _bytes_on_disk(file: Path) -> int:
    """Without the holes."""
    with suppress(OSError):
        return file.stat().st_blocks * 512
    return 0


def _read(folder: Path) -> dict[str, _Noted] | None:
    """What the seal says; None where there is none, or it cannot be read."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        told = json.loads((folder / NAME).read_text("utf-8"))
        if zlib.crc32(told["files"].encode()) == told["check"]:
            return {name: _Noted(**one) for name, one in json.loads(told["files"]).items()}
    return None


def _wrong_sizes(folder: Path, noted: Mapping[str, _Noted]) -> Iterator[SealFlaw]:
    for name, one in noted.items():
        try:
            size = (folder / name).stat().st_size
        except OSError as error:
            if not name.endswith(_MAY_BE_GONE):
                yield SealFlaw(name, error.strerror or str(error))
            continue
        if size != one.bytes:
            yield SealFlaw(name, f"it has {size:,} bytes, not {one.bytes:,}")


def _wrong_digests(
    folder: Path, noted: Mapping[str, _Noted], is_enough: Callable[[], bool] = lambda: False
) -> Iterator[SealFlaw]:
    for name, one in noted.items():
        try:
            digest = _digest(folder / name, is_enough)
        except FileNotFoundError:
            continue  # told with the sizes
        except OSError as error:
            yield SealFlaw(name, error.strerror or str(error))
            continue
        if digest != one.digest and not is_enough():
            yield SealFlaw(name, "what it holds is not what was written")


def _noted(file: Path) -> _Noted:
    return _Noted(file.stat().st_size, _digest(file))


def _digest(file: Path, is_enough: Callable[[], bool] = lambda: False) -> int:
    """Of the content. Blocks of zeros do not count: most of an index's files are holes, which copies fill."""
    digest = 0
    with closing(DescriptorUse(file)) as use:
        opened = use.descriptor
        size, at = os.fstat(opened).st_size, 0
        while at < size and not is_enough():
            try:
                at = os.lseek(opened, at, os.SEEK_DATA) // _BLOCK * _BLOCK
            except OSError:  # nothing but a hole is left
                break
            block = os.pread(opened, _BLOCK, at)
            if block != _NOTHING[: len(block)]:
                digest = zlib.crc32(block, zlib.crc32(at.to_bytes(8), digest))
            at += _BLOCK
    return digest
