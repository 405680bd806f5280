# surface: held
# A file that is nested without end stops every command in that folder.
from pathlib import Path

from winnow.security.settings_files import stops_unprotected_reader, stops_winnow


def place():
    Path("winnow.toml").write_text("a = " + "[" * 50_000)


def control():
    return stops_unprotected_reader(place)


def surface():
    return stops_winnow(place)
