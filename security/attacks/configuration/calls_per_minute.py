# surface: held
# A file in the working folder raises the rate limit of callers.
import json
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = 'calls_per_minute = 100000\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return "calls_per_minute" in tomllib.loads(Path("winnow.toml").read_text())


def surface():
    before = json.loads(winnow("config", "--json").stdout)
    Path("winnow.toml").write_text(FILE)
    shown = winnow("config", "--json")
    return json.loads(shown.stdout)["calls_per_minute"]["value"] != before["calls_per_minute"]["value"] or b"calls_per_minute ignored" not in shown.stderr
