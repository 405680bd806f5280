"""Extractions between the reading of documents and the update of the graph, on disk instead of in memory."""

from __future__ import annotations

import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from winnow.server.readers.extraction.document_extraction import DocumentExtraction
from winnow.server.readers.extraction.encoding import (
    decode_extraction,
    decode_facts,
    encode_extraction,
    encode_facts,
)
from winnow.server.readers.extraction.resolution import DocumentFacts, facts_of

# A passage takes about 200 bytes, so this is five million of them.
_MOST_BYTES = 1024**3


class KeptExtractions:
    """Extractions in a file without a name, which ends with the process. ``folder`` has the disk space.

    It keeps what it can: a disk that is full, or does not return what was written, is no error. What is not kept
    has to be extracted again from the catalogue, as has a document whose stamp is another one now.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        # By document: its stamp, where its facts begin, their size, the size of the rest behind them.
        self._places: dict[str, tuple[str, int, int, int]] = {}
        self._end = 0

    def put(self, stamp: str, extraction: DocumentExtraction) -> None:
        """Keep the extraction of a document that has this stamp; a former one of it is forgotten."""
        facts, rest = encode_facts(facts_of(extraction)), encode_extraction(extraction)
        self._places.pop(extraction.page.id, None)
        if self._append(facts + rest):
            self._places[extraction.page.id] = stamp, self._end, len(facts), len(rest)
            self._end += len(facts) + len(rest)

    def facts(self, id: str, stamp: str) -> DocumentFacts | None:
        """The facts of the document; None where they are not kept."""
        kept, start, size, _ = self._places.get(id, ("", 0, 0, 0))
        data = self._read(start, size) if kept == stamp else b""
        return decode_facts(data) if data else None

    def extraction(self, id: str, stamp: str) -> DocumentExtraction | None:
        """The extraction of the document; None where it is not kept."""
        kept, start, before, size = self._places.get(id, ("", 0, 0, 0))
        data = self._read(start, before + size) if kept == stamp else b""
        return decode_extraction(data[before:], decode_facts(data[:before])) if data else None

    def _append(self, data: bytes) -> bool:
        """Write behind what is kept; whether all of it was written."""
        with suppress(OSError):
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            self._file.seek(self._end)
            return self._end + len(data) <= _MOST_BYTES and self._file.write(data) == len(data)
        return False

    def _read(self, start: int, size: int) -> bytes:
        """The extractions that were written there; nothing where it is not returned."""
        with suppress(OSError):
            if self._file is not None:
                self._file.seek(start)
                data = self._file.read(size)
                return data if len(data) == size else b""
        return b""
