# surface: held | seconds: 120
# A named pipe without a writer, which makes every reader wait.
import json
import os
import subprocess
import sys
from pathlib import Path

from security.surface import winnow


def bomb(path):
    os.mkfifo(path)


def control():
    bomb(Path("bomb"))
    reader = "open('bomb').read()"
    try:
        subprocess.run([sys.executable, "-I", "-c", reader], timeout=2, check=True, capture_output=True)
    except subprocess.TimeoutExpired:
        return True
    return False


def surface():
    folder = Path("documents")
    folder.mkdir()
    (folder / "first.md").write_text("The first neighbour.\n")
    (folder / "last.md").write_text("The last neighbour.\n")
    bomb(folder / "b.md")
    answer = winnow("ingest", "documents", "--store", "store", "--project", "p", "--json", seconds=110)
    report = json.loads(answer.stdout)
    named = [one for one in report["failures"] if one["name"].startswith("b.md")]
    return answer.returncode != 0 or report["documents"] < 2 or bool(named) is not True
