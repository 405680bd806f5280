# surface: held
# Each of many files has a thousand notes of its own, and the report of their ingest keeps them all in memory.
from collections import Counter

from winnow.server.storage.base import CatalogueEntry
from winnow.server.ingest.report import ReadingTally
from winnow.server.models import Document, Reading

FILES, NOTES = 60, 1_000


def readings():
    for file in range(FILES):
        yield Reading("workbook", notes=tuple(f"sheet '{file}-{number}': was cut" for number in range(NOTES)))


def control():
    return len(Counter(note for reading in readings() for note in reading.notes)) == FILES * NOTES


def surface():
    document = Document("0" * 12, "p", "a.xlsx", "/d", "", "sheet", "")
    tally = ReadingTally()
    for reading in readings():
        tally.add([CatalogueEntry(document, "", (), "a.xlsx", "", "", (), reading)])
    return len(tally.notes) > 10_000 or len(tally.summarize().notes) != 100
