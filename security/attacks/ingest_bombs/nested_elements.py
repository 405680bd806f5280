# surface: held | seconds: 120
# 50,000 elements within each other.
import json
from html.parser import HTMLParser
from pathlib import Path

from security.surface import winnow


class Depth(HTMLParser):
    depth = 0

    def handle_starttag(self, tag, attributes):
        self.depth += 1

    def nested(self, depth):
        return 1 + self.nested(depth - 1) if depth else 0



def bomb(path):
    path.write_text("<div>" * 50_000 + "words")


def control():
    bomb(Path("bomb"))
    depth = Depth()
    depth.feed(Path("bomb").read_text())
    try:
        return depth.depth > depth.nested(depth.depth)
    except RecursionError:
        return True


def surface():
    folder = Path("documents")
    folder.mkdir()
    (folder / "first.md").write_text("The first neighbour.\n")
    (folder / "last.md").write_text("The last neighbour.\n")
    bomb(folder / "b.html")
    answer = winnow("ingest", "documents", "--store", "store", "--project", "p", "--json", seconds=110)
    report = json.loads(answer.stdout)
    named = [one for one in report["failures"] if one["name"].startswith("b.html")]
    return answer.returncode != 0 or report["documents"] < 2 or bool(named) is not True
