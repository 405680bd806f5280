# surface: held
# Counts by field, folder and label count the documents outside the scope.
import json
from pathlib import Path

from winnow.security.corpus_store import WORD, answers, ingest_pages


def control():
    ingest_pages()
    return len(list(Path("documents").rglob("*.md"))) == 2


def surface():
    ingest_pages()
    for key in ("folder", "vendor", "environment", "stage"):
        said = json.loads(answers("documents", "--group-by", key))
        counted = [row["documents"] for row in said["results"]]
        if said["total"]["documents"] != 1 or counted != [1] or WORD in json.dumps(said):
            return True
    return json.loads(answers("documents"))["total"]["documents"] != 1
