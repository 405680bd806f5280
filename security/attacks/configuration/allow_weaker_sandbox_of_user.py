# surface: held
# A file that some program left in the user's configuration folder takes a wall of the sandbox away.
import json
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = 'allow_weaker_sandbox = ["landlock"]\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return tomllib.loads(Path("winnow.toml").read_text())["allow_weaker_sandbox"] == ["landlock"]


def surface():
    Path("winnow").mkdir()
    Path("winnow/winnow.toml").write_text(FILE)
    return json.loads(winnow("config", "--json").stdout)["allow_weaker_sandbox"]["value"] != []
