# surface: held | seconds: 120
# A collection of one line of 300 MB.
import json
from pathlib import Path

from security.surface import winnow


def bomb(path):
    with path.open("wb") as file:
        file.write(b'{"_id": 1, "text": "')
        for _ in range(300):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n')


def control():
    bomb(Path("bomb"))
    with open("bomb", "rb") as file:
        return max(map(len, file)) > 300_000_000


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
