"""Seals: recorded sizes and digests of an index's files, which show whether they are as they were written.

Theory of operation. A *seal* is a file in a folder that holds the sizes and digests of other files in it::

    a writer begins to write      its files are compared with the seal, all that were not yet; then the seal is
                                  removed, and that is on the disk before the first change
    the writer is done            all is flushed, then the files are sealed again, an ingest's after its last
                                  change, that of any other command at once
    a process opens the files     every size is compared at once, for mapping a file that is too short kills the
                                  process; digests of the smallest files too, up to ``IMMEDIATE_BYTES``; the rest
                                  follows while searches go on
    the vector store is opened    it replays its log, which changes files: meanwhile the seal is removed, and
                                  then written for the new state
    winnow doctor                 compares everything

A difference raises ``WinnowError("INDEX_UNAVAILABLE")`` that names the file. After an ingest was killed there is
no seal, and the files are opened as they are: the next ingest compares every document with its own digest, brings
the files in line and seals them. The digest is a
checksum against failing disks and incomplete copies; a user who may write the files may write the seal too.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from winnow.server.errors import WinnowError
from winnow.server.runtime.logs import log
from winnow.server.storage.files.descriptors import DescriptorUse
from winnow.server.storage.files.holes import find_data
from winnow.server.storage.files.store_folder import SEAL

NAME = SEAL
IMMEDIATE_BYTES = 64 << 20
# Short commands have ended by then, and the first answers of a server are not slower.
_LATER_SECONDS = 2.0
_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)
# The vector store deletes this file when it opens the index, because the file beside it holds its content by then.
_MAY_BE_MISSING = "tracker_journal.dat"


@dataclass(frozen=True, slots=True)
class _FileRecord:
    """Size and digest of a file as it was written."""

    bytes: int
    digest: int


@dataclass(frozen=True, slots=True)
class SealFlaw:
    """A file that is not as it was written: its name below the sealed folder, and what is wrong with it."""

    file: str
    why: str


@dataclass(frozen=True, slots=True)
class SealedFile:
    """A file as its seal has it, its size and time of change when that was read, and whether it was damaged."""

    record: _FileRecord
    state: tuple[int, int] | None
    is_damaged: bool


Before = Mapping[str, SealedFile]


def write(folder: Path, names: Iterable[str], before: Before = MappingProxyType({})) -> None:
    """Seal the files of these names below the folder. The caller alone writes them, and has flushed them.

    Files that are untouched since ``read_state`` returned ``before`` keep their records, and so do those that were
    damaged then: they stay damaged until they are made anew.
    """
    _write(folder, {name: _record_after(_join(folder, name), before.get(name)) for name in names})


def read_state(folder: Path, compared: Collection[str] = ()) -> Before:
    """The seal's record of each file; empty without a seal. Those in ``compared`` are compared with it."""
    flawed = {flaw.file for flaw in find_flaws(folder, compared)} if compared else set()
    return {
        name: SealedFile(record, _state(_join(folder, name)), name in flawed)
        for name, record in (_read(folder) or {}).items()
    }


@contextmanager
def keep_sealed(folder: Path, list_names: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Around code that may change sealed files without writing to the index; ``list_names``: all files afterwards.

    Untouched files keep their records. If the process is killed meanwhile, the folder has no seal.
    """
    before = read_state(folder)
    if before:
        with suppress(OSError):
            (folder / NAME).unlink()
    yield
    if before:
        with suppress(OSError):  # a full disk: an index without a seal opens too
            write(folder, list_names(), before)


def _join(folder: Path, name: str) -> str:
    """The path of a file: an index has hundreds, and as many objects of paths take longer than looking at them."""
    return f"{folder}{os.sep}{name}"


def _record_after(file: str, former: SealedFile | None) -> _FileRecord:
    if former and (former.is_damaged or former.state == _state(file)):
        return former.record
    record = _record_of(file)
    if former and record != former.record:  # the seal must not reach the disk before the file
        _sync(file)
    return record


def _state(file: str) -> tuple[int, int] | None:
    with suppress(OSError):
        status = os.stat(file)
        return status.st_size, status.st_mtime_ns
    return None


def _write(folder: Path, records: Mapping[str, _FileRecord]) -> None:
    body = json.dumps(
        {name: {"bytes": each.bytes, "digest": each.digest} for name, each in sorted(records.items())}
    )
    temporary = folder / f".{NAME}"
    temporary.write_text(json.dumps({"check": zlib.crc32(body.encode()), "files": body}), "utf-8")
    os.replace(temporary, folder / NAME)


def unseal(folder: Path) -> bool:
    """Remove the seal durably; whether there was one."""
    try:
        (folder / NAME).unlink()
    except FileNotFoundError:
        return False
    _sync(folder)
    return True


def _sync(path: Path | str) -> None:
    """Flush a file or folder to the disk. Not by a descriptor of its own: closing it would end SQLite's locks."""
    with closing(DescriptorUse(path)) as use:
        os.fsync(use.descriptor)


def is_sealed(folder: Path) -> bool:
    """Whether there is a seal."""
    return (folder / NAME).exists()


def find_flaws(folder: Path, names: Collection[str] = ()) -> list[SealFlaw]:
    """Every file that is not as it was written; only among ``names``, where any are given."""
    seal = _read(folder)
    if seal is None:
        return [SealFlaw(NAME, "it cannot be read")] if is_sealed(folder) else []
    records = {name: record for name, record in seal.items() if not names or name in names}
    flaws = list(_wrong_sizes(folder, records))
    flawed = {flaw.file for flaw in flaws}
    flaws += _wrong_digests(folder, {name: record for name, record in records.items() if name not in flawed})
    return flaws if _read(folder) == seal else []  # otherwise a writer came meanwhile


class SealCheck:
    """Compares files with their seal: in the constructor what opening depends on, the rest after ``start``.

    ``names``: these files only. ``damage`` makes the error for a file that is not as it was written. The
    constructor raises it, and so does ``raise_damage`` once damage is found.
    """

    def __init__(
        self, folder: Path, damage: Callable[[Path, str], WinnowError], names: Collection[str] = ()
    ) -> None:
        self._folder, self._damage = folder, damage
        self._flaw: SealFlaw | None = None
        self._is_closed = threading.Event()
        seal = _read(folder) or {}
        records = {name: record for name, record in seal.items() if not names or name in names}
        now, later = _split_by_size(folder, records)
        self._flaw = next(_wrong_sizes(folder, records), None) or next(_wrong_digests(folder, now), None)
        if self._flaw and _read(folder) != seal:  # a writer came meanwhile
            self._flaw = None
        self.raise_damage()
        self._later = tuple(later)

    def start(self) -> None:
        """Compare the rest in a background thread."""
        seal = _read(self._folder) or {}
        later = {name: seal[name] for name in self._later if name in seal}
        if later:
            threading.Thread(
                target=self._compare_later, args=(seal, later), name="winnow-seal", daemon=True
            ).start()

    def finish(self) -> None:
        """Compare the rest at once, and raise the error of a damaged file: what is written is sealed as it is."""
        self.raise_damage()
        seal = _read(self._folder)
        later, self._later = self._later, ()
        if seal and later:
            records = {name: seal[name] for name in later if name in seal}
            self._flaw = next(_wrong_digests(self._folder, records), None)
            self.raise_damage()

    def raise_damage(self) -> None:
        """Raise the error of a damaged file, if one was found."""
        if self._flaw is not None:
            raise self._damage(self._folder / self._flaw.file, self._flaw.why)

    def close(self) -> None:
        """Stop comparing."""
        self._is_closed.set()

    def _compare_later(self, seal: Mapping[str, _FileRecord], later: Mapping[str, _FileRecord]) -> None:
        if self._is_closed.wait(_LATER_SECONDS):
            return
        for flaw in _wrong_digests(self._folder, later, self._is_closed.is_set):
            if self._is_closed.is_set() or _read(self._folder) != seal:
                return
            log("a file of the index is damaged", level=50, file=str(self._folder / flaw.file), why=flaw.why)
            self._flaw = flaw
            return
        self._later = ()


def _split_by_size(
    folder: Path, records: Mapping[str, _FileRecord]
) -> tuple[dict[str, _FileRecord], dict[str, _FileRecord]]:
    """The records to compare at once, the smallest files first, and those to compare later."""
    sizes = {name: _bytes_on_disk(_join(folder, name)) for name in records}
    now, later, total = dict[str, _FileRecord](), dict[str, _FileRecord](), 0
    for name in sorted(records, key=sizes.__getitem__):
        total += sizes[name]
        (now if total <= IMMEDIATE_BYTES else later)[name] = records[name]
    return now, later


def _bytes_on_disk(file: str) -> int:
    """The allocated size, without holes."""
    with suppress(OSError):
        return os.stat(file).st_blocks * 512
    return 0


def _read(folder: Path) -> dict[str, _FileRecord] | None:
    """The records of the seal; None where there is none, or it cannot be read."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        content = json.loads((folder / NAME).read_text("utf-8"))
        if zlib.crc32(content["files"].encode()) == content["check"]:
            return {name: _FileRecord(**record) for name, record in json.loads(content["files"]).items()}
    return None


def _wrong_sizes(folder: Path, records: Mapping[str, _FileRecord]) -> Iterator[SealFlaw]:
    for name, record in records.items():
        try:
            size = os.stat(_join(folder, name)).st_size
        except OSError as error:
            if not name.endswith(_MAY_BE_MISSING):
                yield SealFlaw(name, error.strerror or str(error))
            continue
        if size != record.bytes:
            yield SealFlaw(name, f"it has {size:,} bytes, not {record.bytes:,}")


def _wrong_digests(
    folder: Path, records: Mapping[str, _FileRecord], is_cancelled: Callable[[], bool] = lambda: False
) -> Iterator[SealFlaw]:
    for name, record in records.items():
        try:
            digest = _digest(_join(folder, name), is_cancelled)
        except FileNotFoundError:
            continue  # reported with the sizes
        except OSError as error:
            yield SealFlaw(name, error.strerror or str(error))
            continue
        if digest != record.digest and not is_cancelled():
            yield SealFlaw(name, "its content is not what was written")


def _record_of(file: str) -> _FileRecord:
    return _FileRecord(os.stat(file).st_size, _digest(file))


def _digest(file: str, is_cancelled: Callable[[], bool] = lambda: False) -> int:
    """A checksum of the content without blocks of zeros: index files are mostly holes, which copies fill."""
    digest = 0
    with closing(DescriptorUse(file)) as use:
        for at in _blocks_with_data(use.descriptor):
            if is_cancelled():
                break
            block = os.pread(use.descriptor, _BLOCK, at)
            if block != _ZEROS[: len(block)]:
                digest = zlib.crc32(block, zlib.crc32(at.to_bytes(8), digest))
    return digest


def _blocks_with_data(descriptor: int) -> Iterator[int]:
    """The beginnings of the blocks that have more than holes."""
    after = 0
    for start, end in find_data(descriptor):
        for at in range(max(after, start // _BLOCK * _BLOCK), end, _BLOCK):
            yield at
            after = at + _BLOCK
