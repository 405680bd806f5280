# surface: held
# A file in the working folder disables a wall of the sandbox.
import json
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = 'allow_weaker_sandbox = ["landlock"]\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return "allow_weaker_sandbox" in tomllib.loads(Path("winnow.toml").read_text())


def surface():
    before = json.loads(winnow("config", "--json").stdout)
    Path("winnow.toml").write_text(FILE)
    shown = winnow("config", "--json")
    return json.loads(shown.stdout)["allow_weaker_sandbox"]["value"] != before["allow_weaker_sandbox"]["value"] or b"allow_weaker_sandbox ignored" not in shown.stderr
