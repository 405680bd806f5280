# surface: held
# A number of 10,000 sexagesimal parts.
from pathlib import Path

import yaml

from winnow.security.bomb_ingest import breaks_ingest


def bomb(path):
    path.write_text(f"---\nweight: {'1:' * 10_000}1.5\n---\nWords.\n")


def control():
    bomb(Path("bomb"))
    try:
        yaml.safe_load(Path("bomb").read_text().split("---")[1])
    except OverflowError:
        return True
    return False


def surface():
    return breaks_ingest(bomb, "b.md", documents=3, is_reported=False)
