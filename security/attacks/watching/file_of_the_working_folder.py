# surface: held
# A file in the working folder has servers watch, and polls without a pause.
import json
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = 'watch = "on"\nwatch_poll_seconds = 0.1\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return tomllib.loads(Path("winnow.toml").read_text())["watch"] == "on"


def surface():
    Path("winnow.toml").write_text(FILE)
    shown = json.loads(winnow("config", "--json").stdout)
    return (shown["watch"]["value"], shown["watch_poll_seconds"]["value"]) != ("off", 10.0)
