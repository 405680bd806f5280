# surface: held
# A wrong value of a harmless setting stops every command in that folder.
from pathlib import Path

from winnow.security.settings_files import stops_unprotected_reader, stops_winnow

CHECK = "assert settings['fusion'] in ('convex', 'rrf')"


def place():
    Path("winnow.toml").write_text('fusion = "none"\n')


def control():
    return stops_unprotected_reader(place, after=CHECK)


def surface():
    return stops_winnow(place)
