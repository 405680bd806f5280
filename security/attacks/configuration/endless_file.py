# surface: held
# A link to an endless file by the name of the settings file takes all memory.
import os

from winnow.security.settings_files import stops_unprotected_reader, stops_winnow

LESS_MEMORY = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))"


def place():
    os.symlink("/dev/zero", "winnow.toml")


def control():
    return stops_unprotected_reader(place, before=LESS_MEMORY)


def surface():
    return stops_winnow(place)
