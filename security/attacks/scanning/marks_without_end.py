# surface: held
# A document of a million marks, which Python sorts in time with the square of their number while nothing else runs.
import time
import unicodedata

from winnow.security.scan_target import ingest, scan

HALF = 300_000


def control():
    began = time.process_time()
    unicodedata.normalize("NFC", "a" + "\u0301" * 30_000 + "\u0327" * 30_000)
    return time.process_time() - began > 1


def surface():
    ingest({"a.md": "Backups are kept a" + "\u0301" * HALF + "\u0327" * HALF + " end.\n"})
    return len(scan("Backups are").get("results", ())) != 1
