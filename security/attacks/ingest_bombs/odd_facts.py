# surface: held
# A tag of control characters and a date of words: searches that meet the page must answer.
from pathlib import Path

import yaml

from winnow.security.bomb_ingest import STORE, breaks_ingest
from winnow.security.surface import winnow


def bomb(path):
    date = "Wed Mar 06 2024 10:00:00 GMT+0100 (Central European Standard Time)"
    path.write_text(f'---\ntags: ["\\a"]\ndate: "{date}"\n---\nWords.\n')


def control():
    bomb(Path("bomb"))
    facts = yaml.safe_load(Path("bomb").read_text().split("---")[1])
    return not facts["tags"][0].isprintable() and len(facts["date"]) > 40


def surface():
    is_broken = breaks_ingest(bomb, "b.md", documents=3, is_reported=False)
    found = winnow("search", "words", *STORE, "--json")
    return is_broken or found.returncode != 0
