# surface: held | seconds: 120
# A record whose id is a path of 200,000 folders, each of which would be a label of its chunks.
import json
from pathlib import Path

from security.surface import winnow


def bomb(path):
    path.write_text(json.dumps({"_id": "/" * 200_000, "text": "Words."}) + "\n")


def control():
    bomb(Path("bomb"))
    folders = json.loads(Path("bomb").read_text())["_id"].split("/")
    return sum(len("/".join(folders[:depth])) for depth in range(0, len(folders), 1_000)) > 10_000_000


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
