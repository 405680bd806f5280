"""Reads damaged files behind the walls: ``make fuzz-files``.

    python -m tests.fuzz.reading --seconds 600 --seed 1

A damaged file is a document or has a reason; afterwards the fork server lives, has no child, and this process has
the descriptors that it had. Reasons are counted by format; files whose reader failed for a reason of its own (a
crash, an exception, an invalid answer) are kept in a folder that is named at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.fuzz.damaged_files import SEEDS, damage, make_images
from winnow.server.ingest.change_detection import document_of
from winnow.server.ingest.children.parser import ParserProcess
from winnow.server.ingest.children.walled_children import WalledChildren
from winnow.server.readers.chunking import chunk
from winnow.server.readers.documents import RawDocument, UnreadableFile, clean_document
from winnow.server.readers.formats.format_table import FORMATS
from winnow.server.readers.formats.parsed_file import ReadOptions

_FAILURE = re.compile(r"(its parser|the reader|takes longer|needs more memory|nested too deeply)\b.*")
READ = "read"
_PLAIN, _OCR = ReadOptions(), ReadOptions(uses_ocr=True)


class Reading:
    """Reads one file after another in a folder, with the children of one ingest."""

    def __init__(self, folder: Path, seeds: Mapping[str, bytes], options: ReadOptions = _PLAIN) -> None:
        self._folder = folder
        self._seeds = seeds
        self._parser = ParserProcess(options)
        self._parser.expect(frozenset({"read", "read_sheet", "dry_run"}))
        self._good = {suffix: self._read(suffix, data) for suffix, data in seeds.items()}
        assert self._parser._walled is not None
        assert isinstance(self._parser._walled.children, WalledChildren)
        self._children = self._parser._walled.children
        self._server = self._children._children._process
        self._descriptors = _descriptors()
        self._idle = self._processes()

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *_: object) -> None:
        self._parser.close()

    def read(self, suffix: str, data: bytes) -> str:
        """`READ`, or the reason why the file is not read. Raises ``AssertionError`` where something is left."""
        try:
            self._read(suffix, data)
            outcome = READ
        except UnreadableFile as refused:
            outcome = str(refused)
        self.check_nothing_is_left()
        assert outcome.strip(), "a file is refused without a reason"
        return outcome

    def check_nothing_is_left(self) -> None:
        """Raise ``AssertionError`` unless the fork server lives, alone again, and no descriptor is open."""
        assert (self._server.poll(), self._processes()) == (None, self._idle)
        assert self._children._children._process is self._server, "the fork server was started again"
        assert _descriptors() == self._descriptors
        assert len(list(self._folder.iterdir())) == 1

    def _processes(self) -> list[str]:
        """The processes of the fork server while no file is read."""
        return Path(f"/proc/{self._server.pid}/task/{self._server.pid}/children").read_text().split()

    def check_good_file(self, suffix: str) -> None:
        """Raise ``AssertionError`` unless the undamaged file is read as at the beginning."""
        assert self._read(suffix, self._seeds[suffix]) == self._good[suffix]

    def _read(self, suffix: str, data: bytes) -> list[str]:
        """The texts of a file that is read and split as an ingest does."""
        path = self._folder / "file"
        path = path.rename(path.with_name(f"file{suffix}")) if path.exists() else path.with_name(f"file{suffix}")
        for other in self._folder.iterdir():
            other.unlink()
        path.write_bytes(data)
        texts = []
        for found in self._parser.read(path, path.name, FORMATS[suffix]):
            assert isinstance(found, RawDocument)
            raw = clean_document(found)
            self._parser.dry_run(raw)
            chunk(document_of("p", "s", raw), raw.text, raw.places)
            texts.append(f"{raw.title}\n{raw.text}\n{raw.places}")
        return texts


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def damaged_files(seed: int, seeds: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Damaged files without an end: the suffix and the bytes of each. The same for the same seed."""
    choices = random.Random(seed)
    while True:
        for suffix, data in seeds.items():
            yield suffix, damage(data, choices)


def main() -> int:
    """Read damaged files for so many seconds; 1 where a reader failed by itself."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--formats", nargs="*", help="suffixes, such as .docx")
    parser.add_argument("--ocr", action="store_true", help="images, and these alone; needs winnow-mcp[ocr]")
    given = parser.parse_args()
    seeds = {
        suffix: data
        for suffix, data in (make_images() if given.ocr else SEEDS).items()
        if not given.formats or suffix in given.formats
    }
    options = _OCR if given.ocr else _PLAIN
    kept = Path(tempfile.mkdtemp(prefix="damaged-files-"))
    outcomes: Counter[tuple[str, str]] = Counter()
    until = time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory() as folder, Reading(Path(folder), seeds, options) as reading:
        for number, (suffix, data) in enumerate(damaged_files(given.seed, seeds)):
            outcome = reading.read(suffix, data)
            if _FAILURE.fullmatch(outcome):
                name = hashlib.blake2b(data, digest_size=8).hexdigest()
                (kept / f"{name}{suffix}").write_bytes(data)
                print(f"{name}{suffix}: {outcome}", flush=True)
            outcomes[suffix, re.sub(r"\d+", "0", outcome)] += 1
            if number % 100 == 0:
                reading.check_good_file(suffix)
            if time.monotonic() > until:
                break
    for (suffix, outcome), count in sorted(outcomes.items(), key=lambda item: (item[0][0], -item[1])):
        print(f"{suffix:8}{count:>8,}  {outcome[:110]}")
    failures = sum(count for (_, outcome), count in outcomes.items() if _FAILURE.fullmatch(outcome))
    print(f"seed {given.seed}: {outcomes.total():,} files, {failures:,} whose reader failed, kept in {kept}")
    return int(failures > 0)


if __name__ == "__main__":
    raise SystemExit(main())
