# surface: held | seconds: 120
# A record of 100,000 lists within each other.
import json
from pathlib import Path

from security.surface import winnow


def bomb(path):
    path.write_text('{"_id": 1, "text": ' + "[" * 100_000 + "\n")


def control():
    bomb(Path("bomb"))
    try:
        json.loads(Path("bomb").read_text())
    except RecursionError:
        return True
    return False


def surface():
    folder = Path("documents")
    folder.mkdir()
    (folder / "first.md").write_text("The first neighbour.\n")
    (folder / "last.md").write_text("The last neighbour.\n")
    bomb(folder / "b.jsonl")
    answer = winnow("ingest", "documents", "--store", "store", "--project", "p", "--json", seconds=110)
    report = json.loads(answer.stdout)
    named = [one for one in report["failures"] if one["name"].startswith("b.jsonl")]
    return answer.returncode != 0 or report["documents"] < 2 or bool(named) is not True
