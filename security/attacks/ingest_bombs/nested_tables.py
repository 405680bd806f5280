# surface: held
# 700 tables within each other: 11 KB become 32 MB where each cell repeats what is within it.
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest


def bomb(path):
    path.write_text("<table><tr><td>words" * 700)


def control():
    bomb(Path("bomb"))
    cells = Path("bomb").read_text().count("<td>")
    return sum(len("words") * within for cell in range(cells) for within in range(cells - cell)) > 30_000_000


def surface():
    return breaks_ingest(bomb, "b.html", documents=2, is_reported=True)
