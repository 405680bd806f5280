# surface: held
# A file name that is not UTF-8.
import os
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest


def bomb(path):
    path.with_name(os.fsdecode(b"caf\xe9.md")).write_text("Words.\n")


def control():
    bomb(Path("bomb"))
    try:
        [name.encode() for name in os.listdir(".")]
    except UnicodeEncodeError:
        return True
    return False


def surface():
    return breaks_ingest(bomb, "b.md", documents=3, is_reported=False)
