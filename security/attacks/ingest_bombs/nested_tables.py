# surface: held | seconds: 120
# 700 tables within each other: 11 KB become 32 MB where each cell repeats what is within it.
import json
from pathlib import Path

from security.surface import winnow


def bomb(path):
    path.write_text("<table><tr><td>words" * 700)


def control():
    bomb(Path("bomb"))
    cells = Path("bomb").read_text().count("<td>")
    return sum(len("words") * within for cell in range(cells) for within in range(cells - cell)) > 30_000_000


def surface():
    folder = Path("documents")
    folder.mkdir()
    (folder / "first.md").write_text("The first neighbour.\n")
    (folder / "last.md").write_text("The last neighbour.\n")
    bomb(folder / "b.html")
    answer = winnow("ingest", "documents", "--store", "store", "--project", "p", "--json", seconds=110)
    report = json.loads(answer.stdout)
    named = [one for one in report["failures"] if one["name"].startswith("b.html")]
    return answer.returncode != 0 or report["documents"] < 2 or bool(named) is not True
