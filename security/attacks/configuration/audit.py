# surface: held
# A file in the working folder hides what scripts do.
import json
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = 'audit = "off"\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return "audit" in tomllib.loads(Path("winnow.toml").read_text())


def surface():
    before = json.loads(winnow("config", "--json").stdout)
    Path("winnow.toml").write_text(FILE)
    shown = winnow("config", "--json")
    return json.loads(shown.stdout)["audit"]["value"] != before["audit"]["value"] or b"audit ignored" not in shown.stderr
