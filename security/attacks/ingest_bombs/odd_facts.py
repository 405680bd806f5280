# surface: held | seconds: 120
# A tag of control characters and a date of words: searches that meet the page must answer.
import json
from pathlib import Path

import yaml

from security.surface import winnow


def bomb(path):
    date = "Wed Mar 06 2024 10:00:00 GMT+0100 (Central European Standard Time)"
    path.write_text(f'---\ntags: ["\\a"]\ndate: "{date}"\n---\nWords.\n')


def control():
    bomb(Path("bomb"))
    facts = yaml.safe_load(Path("bomb").read_text().split("---")[1])
    return not facts["tags"][0].isprintable() and len(facts["date"]) > 40


def surface():
    folder = Path("documents")
    folder.mkdir()
    (folder / "first.md").write_text("The first neighbour.\n")
    (folder / "last.md").write_text("The last neighbour.\n")
    bomb(folder / "b.md")
    answer = winnow("ingest", "documents", "--store", "store", "--project", "p", "--json", seconds=110)
    report = json.loads(answer.stdout)
    named = [one for one in report["failures"] if one["name"].startswith("b.md")]
    found = winnow("search", "words", "--store", "store", "--project", "p", "--json")
    return answer.returncode != 0 or report["documents"] < 3 or bool(named) or found.returncode != 0
