"""ZIP archives (office documents, books) with bounds that are checked before an entry is decompressed."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

from winnow.server.readers.documents import UnreadableFile

# A workbook of a million rows has 100 to 400 MiB of XML; a presentation of 500 slides has 3,000 entries.
LARGEST_SUM_BYTES = 1024 * 1024 * 1024
MOST_ENTRIES = 20_000
# Deflate reaches 1,032; the XML of sheets that repeat themselves 50. Small archives may have any ratio.
LARGEST_RATIO, _RATIO_FREE_BYTES = 250, 16 * 1024 * 1024
# The largest entry that is held in memory as a whole.
LARGEST_ENTRY_BYTES = 64 * 1024 * 1024
# All parts that are read as a whole.
_MOST_READ_BYTES = 384 * 1024 * 1024

_BLOCK_BYTES = 1024 * 1024
_DIRECTORY_SIGNATURE = b"PK\x01\x02"
_LOCAL_HEADER_BYTES = 30
_IS_ENCRYPTED = 0x1
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError, RuntimeError)


@dataclass(slots=True)
class _Budget:
    """The number of bytes that may still be read, because parts may refer to each other repeatedly."""

    bytes: int = _MOST_READ_BYTES


@dataclass(frozen=True, slots=True)
class Archive:
    """An open archive that keeps the bounds. Names are compared without regard to case, as office programs do."""

    _zip: zipfile.ZipFile
    _entries: Mapping[str, zipfile.ZipInfo]
    _budget: _Budget

    def names(self) -> tuple[str, ...]:
        """The names of all entries in the order of the archive, with slashes."""
        return tuple(entry.filename for entry in self._entries.values())

    def has(self, name: str) -> bool:
        """Whether there is an entry of this name."""
        return _key(name) in self._entries

    def size(self, name: str) -> int:
        """The size of an entry in bytes, as the archive states it; 0 if there is none."""
        entry = self._entries.get(_key(name))
        return entry.file_size if entry else 0

    def read(self, name: str, most: int = LARGEST_ENTRY_BYTES) -> bytes:
        """The bytes of an entry. Raises ``UnreadableFile`` if it is absent, damaged or larger than ``most``."""
        data = self.read_start(name, most + 1)
        if len(data) > most:
            raise UnreadableFile(f"its part {name[:100]} is larger than {most >> 20} MiB")
        return data

    def blocks(self, name: str) -> Iterator[bytes]:
        """The bytes of an entry, block by block. Raises ``UnreadableFile``."""
        entry = self._entry(name)
        try:
            with self._zip.open(entry) as stream:
                while block := stream.read(_BLOCK_BYTES):
                    yield block
        except _DAMAGE:
            raise UnreadableFile(f"its part {name[:100]} is damaged") from None

    def read_start(self, name: str, most: int) -> bytes:
        """At most the first ``most`` bytes of an entry. Raises ``UnreadableFile``."""
        entry = self._entry(name)
        try:
            with self._zip.open(entry) as stream:
                data = stream.read(most)
        except _DAMAGE:
            raise UnreadableFile(f"its part {name[:100]} is damaged") from None
        self._budget.bytes -= len(data)
        if self._budget.bytes < 0:
            raise UnreadableFile(f"has more than {_MOST_READ_BYTES >> 20} MiB of parts to read")
        return data

    def _entry(self, name: str) -> zipfile.ZipInfo:
        entry = self._entries.get(_key(name))
        if entry is None:
            raise UnreadableFile(f"has no part {name[:100]}")
        return entry


def open_archive(file: BinaryIO, format: str, most: int = LARGEST_SUM_BYTES) -> Archive:
    """Open an archive; ``format`` names what it should be ("DOCX"), for messages.

    ``most``: how many bytes all entries may have when they are decompressed.

    Raises ``UnreadableFile`` if it is no ZIP archive, is encrypted, or exceeds a bound. The stated sizes are
    trusted for the bounds only: reading an entry never yields more than it states.
    """
    if _count_signatures(file) > MOST_ENTRIES:
        raise UnreadableFile(f"has more than {MOST_ENTRIES:,} entries")
    try:
        archive = zipfile.ZipFile(file)
    except _DAMAGE:
        raise UnreadableFile(f"is damaged or not a {format} file (no ZIP archive)") from None
    _check_bounds(archive.infolist(), most)
    return Archive(archive, {_key(entry.filename): entry for entry in archive.infolist()}, _Budget())


def _count_signatures(file: BinaryIO) -> int:
    """The number of entries that a directory can have, without reading one; ``zipfile`` would load all."""
    file.seek(0)
    count, tail = 0, b""
    while block := file.read(_BLOCK_BYTES):
        count += (tail + block).count(_DIRECTORY_SIGNATURE)
        tail = block[-len(_DIRECTORY_SIGNATURE) + 1 :]
    file.seek(0)
    return count


def _check_bounds(entries: list[zipfile.ZipInfo], most: int) -> None:
    if any(entry.flag_bits & _IS_ENCRYPTED for entry in entries):
        raise UnreadableFile("is encrypted; save it without a password")
    if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries):
        raise UnreadableFile("is compressed in a way that office documents are not")
    whole, packed = sum(entry.file_size for entry in entries), sum(entry.compress_size for entry in entries)
    if whole > most:
        raise UnreadableFile(f"has more than {most >> 20} MiB when it is decompressed")
    if whole > max(_RATIO_FREE_BYTES, LARGEST_RATIO * packed):
        raise UnreadableFile(f"grows more than {LARGEST_RATIO} times when it is decompressed")
    ordered = sorted(entries, key=lambda entry: entry.header_offset)
    if any(_end(first) > second.header_offset for first, second in pairwise(ordered)):
        raise UnreadableFile("is a ZIP archive whose entries overlap")


def _end(entry: zipfile.ZipInfo) -> int:
    """The earliest end of the data of an entry."""
    return entry.header_offset + _LOCAL_HEADER_BYTES + entry.compress_size


def _key(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").casefold()
