# surface: held
# A named pipe without a writer, which makes every reader wait.
import os
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest, hangs


def bomb(path):
    os.mkfifo(path)


def control():
    bomb(Path("bomb"))
    return hangs("open('bomb').read()", "-I")


def surface():
    return breaks_ingest(bomb, "b.md", documents=2, is_reported=True)
