# surface: held
# A file in the working folder has a model of its choice loaded.
import json
import tomllib
from pathlib import Path

from winnow.security.surface import winnow

FILE = 'reranker = "/somewhere/else"\n'


def control():
    Path("winnow.toml").write_text(FILE)
    return "reranker" in tomllib.loads(Path("winnow.toml").read_text())


def surface():
    before = json.loads(winnow("config", "--json").stdout)
    Path("winnow.toml").write_text(FILE)
    shown = winnow("config", "--json")
    return json.loads(shown.stdout)["reranker"]["value"] != before["reranker"]["value"] or b"reranker ignored" not in shown.stderr
