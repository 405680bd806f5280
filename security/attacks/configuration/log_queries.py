# surface: held
# A file in the working folder has queries written to the log.
import json
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = 'log_queries = true\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return "log_queries" in tomllib.loads(Path("winnow.toml").read_text())


def surface():
    before = json.loads(winnow("config", "--json").stdout)
    Path("winnow.toml").write_text(FILE)
    shown = winnow("config", "--json")
    return json.loads(shown.stdout)["log_queries"]["value"] != before["log_queries"]["value"] or b"log_queries ignored" not in shown.stderr
