# surface: held | seconds: 120
# YAML merge keys, nine of them at each of eight levels.
import json
import subprocess
import sys
from pathlib import Path

from security.surface import winnow


def bomb(path):
    lines = [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)]
    facts = "\n".join(["a0: &a0 {x: 1}", *lines])
    path.write_text(f"---\n{facts}\n---\nWords.\n")


def control():
    bomb(Path("bomb"))
    reader = "import yaml; yaml.safe_load(open('bomb').read().split('---')[1])"
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
    return answer.returncode != 0 or report["documents"] < 3 or bool(named) is not True
