# surface: held
# 50,000 elements within each other.
from html.parser import HTMLParser
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest


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
    return breaks_ingest(bomb, "b.html", documents=2, is_reported=True)
