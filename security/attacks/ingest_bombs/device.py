# surface: held
# A link to a device with endless content.
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest


def bomb(path):
    path.symlink_to("/dev/zero")


def control():
    bomb(Path("bomb"))
    with open("bomb", "rb") as file:
        return len(file.read(100_000_000)) == 100_000_000


def surface():
    return breaks_ingest(bomb, "b.md", documents=2, is_reported=False)
