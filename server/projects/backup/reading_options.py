"""Options of an ingest that the documents of a source were read with, as far as its catalogue tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from winnow.server.models import DocumentReading

# "formats": files of other formats than text were read, "ocr": some by OCR, "hidden": hidden text was kept.
ReadingFact = Literal["formats", "ocr", "hidden"]
OPTIONS: Mapping[ReadingFact, str] = MappingProxyType(
    {"ocr": "--ocr", "hidden": "--hidden keep", "formats": "--allow-weaker-reader"}
)


def collect_facts(readings: Iterable[DocumentReading]) -> dict[str, tuple[ReadingFact, ...]]:
    """The facts about the documents of each source, in the order of ``OPTIONS``; sources without any have none."""
    found: dict[str, set[ReadingFact]] = {}
    for each in readings:
        if each.reading is not None:
            facts = found.setdefault(each.source, {"formats"})
            facts |= {"ocr"} if each.reading.ocr_pages else set()
            facts |= {"hidden"} if each.reading.hidden_kept and each.reading.hidden_runs else set()
    return {source: tuple(fact for fact in OPTIONS if fact in facts) for source, facts in found.items()}
