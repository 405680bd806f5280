# surface: held
# A file in the working folder raises the number of calls that a script may make.
import json
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = 'script_calls = 10000\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return "script_calls" in tomllib.loads(Path("winnow.toml").read_text())


def surface():
    before = json.loads(winnow("config", "--json").stdout)
    Path("winnow.toml").write_text(FILE)
    shown = winnow("config", "--json")
    return json.loads(shown.stdout)["script_calls"]["value"] != before["script_calls"]["value"] or b"script_calls ignored" not in shown.stderr
