# surface: held
# Another user may write the sources' file, and adds a private folder.
import json
from pathlib import Path

from winnow.security.watched_folder import add_notes, has_secret, make_folders, watch_once


def change(path, private):
    content = json.loads(path.read_text())
    content["sources"][0]["paths"] = [str(private)]
    path.write_text(json.dumps(content))
    path.chmod(0o666)


def control():
    _, private = make_folders()
    Path("sources.json").write_text(json.dumps({"sources": [{"paths": ["notes"]}]}))
    change(Path("sources.json"), private)
    return json.loads(Path("sources.json").read_text())["sources"][0]["paths"] == [str(private)]


def surface():
    _, private = make_folders()
    add_notes()
    change(Path("store", "sources.json"), private)
    watch_once()
    return has_secret()
