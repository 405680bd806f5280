# surface: held
# Escape sequences of a document's text reach the terminal of the user who searches.
from pathlib import Path

from winnow.security.surface import winnow

HOSTILE = "needle \x1b[2J\x1b[1;1H\x1b]52;c;b3duZWQ=\x07 \x9b31m \x9d0;title\x9c \x90q\x9c \u202eend\u2066"


def control():
    return "\x1b[2J" in f"   {HOSTILE}"


def surface():
    Path("documents").mkdir()
    Path("documents", "a.txt").write_text(HOSTILE, encoding="utf-8")
    winnow("ingest", "documents", "--store", "store")
    said = "".join(
        winnow("search", "needle", "--mode", mode, "--store", "store").stdout.decode("utf-8", "replace")
        for mode in ("preview", "full")
    )
    return "needle" not in said or any(part in said for part in "\x1b\x07\x9b\x9d\x9c\x90\u202e\u2066")
