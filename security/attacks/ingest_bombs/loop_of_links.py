# surface: held
# A link to itself, and one out of the folder.
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest, is_unreadable


def bomb(path):
    path.symlink_to(path.absolute())
    path.with_name("out").symlink_to("/etc")


def control():
    bomb(Path("bomb"))
    return is_unreadable(Path("bomb"))


def surface():
    return breaks_ingest(bomb, "b.md", documents=2, is_reported=False)
