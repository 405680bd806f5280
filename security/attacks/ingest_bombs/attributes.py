# surface: held | seconds: 210
# An element of 150,000 attributes, each of which is compared with all before it.
import json
import subprocess
import sys
from pathlib import Path

from security.surface import winnow


def bomb(path):
    path.write_text(f"<p {' '.join(f'a{n}=1' for n in range(150_000))}>words</p>")


def control():
    bomb(Path("bomb"))
    reader = "from selectolax.lexbor import LexborHTMLParser; LexborHTMLParser(open('bomb').read())"
    try:
        subprocess.run([sys.executable, "-c", reader], timeout=2, check=True, capture_output=True)
    except subprocess.TimeoutExpired:
        return True
    return False


def surface():
    folder = Path("documents")
    folder.mkdir()
    (folder / "first.md").write_text("The first neighbour.\n")
    (folder / "last.md").write_text("The last neighbour.\n")
    bomb(folder / "b.html")
    answer = winnow("ingest", "documents", "--store", "store", "--project", "p", "--json", seconds=200)
    report = json.loads(answer.stdout)
    named = [one for one in report["failures"] if one["name"].startswith("b.html")]
    return answer.returncode != 0 or report["documents"] < 2 or bool(named) is not True
