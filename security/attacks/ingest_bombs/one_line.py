# surface: held
# A collection of one line of 300 MB.
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest


def bomb(path):
    with path.open("wb") as file:
        file.write(b'{"_id": 1, "text": "')
        for _ in range(300):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n')


def control():
    bomb(Path("bomb"))
    with open("bomb", "rb") as file:
        return max(map(len, file)) > 300_000_000


def surface():
    return breaks_ingest(bomb, "b.jsonl", documents=2, is_reported=True)
