# surface: held | seconds: 120
# One long value, repeated 9,000 times by an alias.
import json
from pathlib import Path

import yaml

from security.surface import winnow


def bomb(path):
    facts = f"a: &a {'x' * 20_000}\nb: [{'*a, ' * 9_000}]"
    path.write_text(f"---\n{facts}\n---\nWords.\n")


def control():
    bomb(Path("bomb"))
    facts = yaml.safe_load(Path("bomb").read_text().split("---")[1])
    return sum(map(len, facts["b"])) > 100_000_000


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
