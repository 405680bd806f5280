# surface: held
# A title of 20,000 hexadecimal digits, which can be read as a number but not written.
from pathlib import Path

import yaml

from winnow.security.bomb_ingest import breaks_ingest


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
    return breaks_ingest(bomb, "b.md", documents=3, is_reported=False)
