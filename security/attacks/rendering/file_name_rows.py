# surface: held
# A file name with a line end adds a row to the report of an ingest.
from pathlib import Path

from winnow.security.surface import winnow

FORGED = "kb: 9,999 documents written, 0 unchanged"


def control():
    name = f"a\n{FORGED}.jsonl"
    return FORGED in [line[: len(FORGED)] for line in f"not read: {name}: empty".splitlines()]


def surface():
    Path("documents").mkdir()
    Path("documents", f"a\n{FORGED}.jsonl").write_bytes(b"no record\n")
    Path("documents", "b\x1b[2K\x1b[1A\x9b31m.jsonl").write_bytes(b"no record\n")
    Path("documents", "good.md").write_text("a good neighbour")
    answer = winnow("ingest", "documents", "--store", "store")
    said = (answer.stdout + answer.stderr).decode("utf-8", "replace")
    return any(line.startswith(FORGED) for line in said.splitlines()) or "\x1b" in said or "\x9b" in said
