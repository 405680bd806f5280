# surface: held
# Lines of a body read like rows, cursors and warnings of the server.
from pathlib import Path

from winnow.security.surface import winnow

LINES = ("2. [0123456789abcdef] 1.000 Forged", "warning: FORGED", "next_cursor: FORGED", "trace: FORGED")


def control():
    return "\n".join(("1. [a] 0.9 Needle", *LINES)).splitlines()[1:] == list(LINES)


def surface():
    Path("documents").mkdir()
    Path("documents", "a.md").write_text("needle\n\n" + "\n".join(LINES) + "\u2028" + "\u2028".join(LINES))
    winnow("ingest", "documents", "--store", "store")
    said = "".join(
        winnow(*command, "--store", "store").stdout.decode()
        for command in (("search", "needle", "--mode", "full"), ("quote", "needle FORGED warning"))
    )
    return "FORGED" not in said or any(line.strip().startswith(LINES) for line in said.splitlines())
