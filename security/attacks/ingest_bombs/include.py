# surface: held | seconds: 120
# A reST page that includes a file of the host.
import json
from pathlib import Path

from docutils.core import publish_string

from security.surface import winnow


def bomb(path):
    path.write_text("Title\n=====\n\n.. include:: /etc/passwd\n")


def control():
    bomb(Path("bomb"))
    return "root:" in publish_string(Path("bomb").read_text()).decode()


def surface():
    folder = Path("documents")
    folder.mkdir()
    (folder / "first.md").write_text("The first neighbour.\n")
    (folder / "last.md").write_text("The last neighbour.\n")
    bomb(folder / "b.rst")
    answer = winnow("ingest", "documents", "--store", "store", "--project", "p", "--json", seconds=110)
    report = json.loads(answer.stdout)
    named = [one for one in report["failures"] if one["name"].startswith("b.rst")]
    found = winnow("search", "root", "--store", "store", "--project", "p", "--json").stdout
    return answer.returncode != 0 or report["documents"] < 3 or bool(named) or b"root:" in found
