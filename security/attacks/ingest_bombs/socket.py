# surface: held
# A socket in place of a page.
import socket
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest, is_unreadable


def bomb(path):
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))


def control():
    bomb(Path("bomb"))
    return is_unreadable(Path("bomb"))


def surface():
    return breaks_ingest(bomb, "b.md", documents=2, is_reported=True)
