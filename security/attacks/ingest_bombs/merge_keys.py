# surface: held
# YAML merge keys, nine of them at each of eight levels.
from pathlib import Path

from winnow.security.bomb_ingest import breaks_ingest, hangs


def bomb(path):
    lines = [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)]
    facts = "\n".join(["a0: &a0 {x: 1}", *lines])
    path.write_text(f"---\n{facts}\n---\nWords.\n")


def control():
    bomb(Path("bomb"))
    return hangs("import yaml; yaml.safe_load(open('bomb').read().split('---')[1])", "-I")


def surface():
    return breaks_ingest(bomb, "b.md", documents=3, is_reported=True)
