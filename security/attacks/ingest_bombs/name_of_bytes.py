# surface: held | seconds: 120
# A file name that is not UTF-8.
import json
import os
from pathlib import Path

from security.surface import winnow


def bomb(path):
    path.with_name(os.fsdecode(b"caf\xe9.md")).write_text("Words.\n")


def control():
    bomb(Path("bomb"))
    try:
        [name.encode() for name in os.listdir(".")]
    except UnicodeEncodeError:
        return True
    return False


def surface():
    folder = Path("documents")
    folder.mkdir()
    (folder / "first.md").write_text("The first neighbour.\n")
    (folder / "last.md").write_text("The last neighbour.\n")
    bomb(folder / "b.md")
    answer = winnow("ingest", "documents", "--store", "store", "--project", "p", "--json", seconds=110)
    report = json.loads(answer.stdout)
    named = [one for one in report["failures"] if one["name"].startswith("b.md")]
    return answer.returncode != 0 or report["documents"] < 3 or bool(named) is not False
