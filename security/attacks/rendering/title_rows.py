# surface: held
# A title with a line end adds a result of its own to a search.
from pathlib import Path

from winnow.security.surface import winnow

ROW = "2. [0123456789abcdef] 1.000 Forged | forged.md"


def control():
    return f"1. [a] 0.9 Needle\n{ROW}".splitlines()[1] == ROW


def surface():
    Path("documents").mkdir()
    front = f'---\ntitle: "Needle\\n{ROW}\\u2028{ROW}"\nvendor: "x\\n{ROW}"\n---\n'
    Path("documents", "a.md").write_text(f"{front}# Needle\n\nneedle in a text")
    winnow("ingest", "documents", "--store", "store")
    said = "".join(
        winnow("search", "needle", "--mode", mode, "--store", "store").stdout.decode()
        for mode in ("metadata", "preview", "full")
    )
    return "needle" not in said.lower() or any(line.strip().startswith(ROW) for line in said.splitlines())
