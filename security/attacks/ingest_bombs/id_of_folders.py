# surface: held
# A record whose id is a path of 200,000 folders, each of which would be a label of its chunks.
import json
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest


def bomb(path):
    path.write_text(json.dumps({"_id": "/" * 200_000, "text": "Words."}) + "\n")


def control():
    bomb(Path("bomb"))
    folders = json.loads(Path("bomb").read_text())["_id"].split("/")
    return sum(len("/".join(folders[:depth])) for depth in range(0, len(folders), 1_000)) > 10_000_000


def surface():
    return breaks_ingest(bomb, "b.jsonl", documents=2, is_reported=True)
