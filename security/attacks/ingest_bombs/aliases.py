# surface: held
# One long value, repeated 9,000 times by an alias.
from pathlib import Path

import yaml

from winnow.security.bomb_ingest import breaks_ingest


def bomb(path):
    facts = f"a: &a {'x' * 20_000}\nb: [{'*a, ' * 9_000}]"
    path.write_text(f"---\n{facts}\n---\nWords.\n")


def control():
    bomb(Path("bomb"))
    facts = yaml.safe_load(Path("bomb").read_text().split("---")[1])
    return sum(map(len, facts["b"])) > 100_000_000


def surface():
    return breaks_ingest(bomb, "b.md", documents=3, is_reported=False)
