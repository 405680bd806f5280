# surface: held | seconds: 120
# 200,000 blanks, over which a pattern for paragraphs goes once from each.
import json
import subprocess
import sys
from pathlib import Path

from security.surface import winnow


def bomb(path):
    path.write_text(" " * 200_000)


def control():
    bomb(Path("bomb"))
    reader = "import re; list(re.finditer(r'[^\\n]*\\S[^\\n]*', open('bomb').read()))"
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
    bomb(folder / "b.txt")
    answer = winnow("ingest", "documents", "--store", "store", "--project", "p", "--json", seconds=110)
    report = json.loads(answer.stdout)
    named = [one for one in report["failures"] if one["name"].startswith("b.txt")]
    return answer.returncode != 0 or report["documents"] < 3 or bool(named) is not False
