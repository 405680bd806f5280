# surface: held
# The sources' file is a link to a file that somebody else wrote.
import json
from pathlib import Path

from winnow.security.watched_folder import add_notes, has_secret, make_folders, watch_once


def place(target, private):
    Path("other.json").write_text(target.read_text().replace(str(Path("notes").absolute()), str(private)))
    target.unlink()
    target.symlink_to(Path("other.json").absolute())


def control():
    notes, private = make_folders()
    Path("sources.json").write_text(json.dumps({"sources": [{"paths": [str(notes)]}]}))
    place(Path("sources.json"), private)
    return str(private) in Path("sources.json").read_text()


def surface():
    _, private = make_folders()
    add_notes()
    place(Path("store", "sources.json"), private)
    watch_once()
    return has_secret()
