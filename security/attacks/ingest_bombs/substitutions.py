# surface: held | seconds: 120
# A reST substitution of 5,000 characters, used a thousand times.
import json
import os
from pathlib import Path

from docutils.core import publish_string

from security.surface import winnow


def bomb(path):
    path.write_text(f".. |a| replace:: {'x' * 5_000}\n\n" + "|a|\n\n" * 1_000)


def control():
    bomb(Path("bomb"))
    with open(os.devnull, "w") as silence:
        page = publish_string(Path("bomb").read_text(), settings_overrides={"warning_stream": silence})
    return len(page) > 100 * Path("bomb").stat().st_size


def surface():
    folder = Path("documents")
    folder.mkdir()
    (folder / "first.md").write_text("The first neighbour.\n")
    (folder / "last.md").write_text("The last neighbour.\n")
    bomb(folder / "b.rst")
    answer = winnow("ingest", "documents", "--store", "store", "--project", "p", "--json", seconds=110)
    report = json.loads(answer.stdout)
    named = [one for one in report["failures"] if one["name"].startswith("b.rst")]
    return answer.returncode != 0 or report["documents"] < 2 or bool(named) is not True
