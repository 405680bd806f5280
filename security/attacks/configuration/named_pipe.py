# surface: held
# A pipe by the name of the settings file holds up every command in that folder.
import os

from winnow.security.settings_files import stops_unprotected_reader, stops_winnow


def place():
    os.mkfifo("winnow.toml")


def control():
    return stops_unprotected_reader(place)


def surface():
    return stops_winnow(place)
