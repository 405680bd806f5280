# surface: held
# A record of 100,000 lists within each other.
import json
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest


def bomb(path):
    path.write_text('{"_id": 1, "text": ' + "[" * 100_000 + "\n")


def control():
    bomb(Path("bomb"))
    try:
        json.loads(Path("bomb").read_text())
    except RecursionError:
        return True
    return False


def surface():
    return breaks_ingest(bomb, "b.jsonl", documents=2, is_reported=True)
