# surface: held | seconds: 120
# A link to a device without an end.
import json
from pathlib import Path

from security.surface import winnow


def bomb(path):
    path.symlink_to("/dev/zero")


def control():
    bomb(Path("bomb"))
    with open("bomb", "rb") as file:
        return len(file.read(100_000_000)) == 100_000_000


def surface():
    folder = Path("documents")
    folder.mkdir()
    (folder / "first.md").write_text("The first neighbour.\n")
    (folder / "last.md").write_text("The last neighbour.\n")
    bomb(folder / "b.md")
    answer = winnow("ingest", "documents", "--store", "store", "--project", "p", "--json", seconds=110)
    report = json.loads(answer.stdout)
    named = [one for one in report["failures"] if one["name"].startswith("b.md")]
    return answer.returncode != 0 or report["documents"] < 2 or bool(named) is not False
