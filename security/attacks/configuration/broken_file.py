# surface: held
# A file that is not TOML stops every command in that folder.
from pathlib import Path

from winnow.security.settings_files import stops_unprotected_reader, stops_winnow


def place():
    Path("winnow.toml").write_bytes(b"\xff = ")


def control():
    return stops_unprotected_reader(place)


def surface():
    return stops_winnow(place)
