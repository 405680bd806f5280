# surface: held
# A file in the working folder chooses functions for scripts to import.
import json
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = 'skills = ["/somewhere/else"]\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return "skills" in tomllib.loads(Path("winnow.toml").read_text())


def surface():
    before = json.loads(winnow("config", "--json").stdout)
    Path("winnow.toml").write_text(FILE)
    shown = winnow("config", "--json")
    return json.loads(shown.stdout)["skills"]["value"] != before["skills"]["value"] or b"skills ignored" not in shown.stderr
