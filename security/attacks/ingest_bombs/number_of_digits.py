# surface: held | seconds: 120
# A title of 20,000 hexadecimal digits, which can be read as a number but not written.
import json
from pathlib import Path

import yaml

from security.surface import winnow


def bomb(path):
    path.write_text(f"---\ntitle: 0x{'f' * 20_000}\n---\nWords.\n")


def control():
    bomb(Path("bomb"))
    try:
        str(yaml.safe_load(Path("bomb").read_text().split("---")[1])["title"])
    except ValueError:
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
