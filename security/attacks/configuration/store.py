# surface: held
# A file in the working folder has another store searched and written.
import json
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = 'store = "/somewhere/else"\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return "store" in tomllib.loads(Path("winnow.toml").read_text())


def surface():
    before = json.loads(winnow("config", "--json").stdout)
    Path("winnow.toml").write_text(FILE)
    shown = winnow("config", "--json")
    return json.loads(shown.stdout)["store"]["value"] != before["store"]["value"] or b"store ignored" not in shown.stderr
