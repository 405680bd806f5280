# surface: held
# A file in the working folder has a file of its choice read as names.
import json
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = 'entities = "/etc/hostname"\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return "entities" in tomllib.loads(Path("winnow.toml").read_text())


def surface():
    before = json.loads(winnow("config", "--json").stdout)
    Path("winnow.toml").write_text(FILE)
    shown = winnow("config", "--json")
    return json.loads(shown.stdout)["entities"]["value"] != before["entities"]["value"] or b"entities ignored" not in shown.stderr
