# surface: held
# A file in the working folder has the model loaded from a folder of its choice.
import json
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = 'models = "/somewhere/else"\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return "models" in tomllib.loads(Path("winnow.toml").read_text())


def surface():
    before = json.loads(winnow("config", "--json").stdout)
    Path("winnow.toml").write_text(FILE)
    shown = winnow("config", "--json")
    return json.loads(shown.stdout)["models"]["value"] != before["models"]["value"] or b"models ignored" not in shown.stderr
