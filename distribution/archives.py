"""Zip and tar files that depend on their contents alone: on no folder, clock, user or mask."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

_EARLIEST = 315_532_800  # 1980: zip files know no earlier time
_FILE, _PROGRAM = 0o644, 0o755


def write_zip(target: Path, files: Mapping[str, bytes], seconds: int) -> None:
    """Write a zip file with these files, sorted, metadata of a wheel last, as its format recommends."""
    moment = time.gmtime(max(seconds, _EARLIEST))[:6]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100000 | _FILE) << 16
            archive.writestr(entry, files[name])


def rewrite_zip(path: Path, seconds: int) -> None:
    """Write a zip file anew, with the same contents."""
    with zipfile.ZipFile(path) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist() if not entry.is_dir()}
    write_zip(path, files, seconds)


def rewrite_tar(path: Path, seconds: int) -> None:
    """Write a compressed tar file anew, with the same contents; programs stay programs."""
    with tarfile.open(path) as archive:
        files = {entry.name: (entry.mode & 0o100, _content(archive, entry)) for entry in archive if entry.isfile()}
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            is_program, content = files[name]
            entry.size, entry.mtime, entry.mode = len(content), seconds, _PROGRAM if is_program else _FILE
            archive.addfile(entry, io.BytesIO(content))
    path.write_bytes(gzip.compress(plain.getvalue(), mtime=seconds))


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(entry)
    assert stream is not None  # it is a file
    return stream.read()
