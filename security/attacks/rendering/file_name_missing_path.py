# surface: held
# A path on the command line brings its escapes and rows into the message of the error.
from winnow.security.surface import winnow

NAME = "nowhere\nwinnow: everything is indexed\x1b]0;owned\x07\u202e"


def control():
    return f"{NAME} does not exist".splitlines()[1].startswith("winnow: everything")


def surface():
    said = winnow("ingest", NAME, "--store", "store").stderr.decode("utf-8", "replace")
    return "\nwinnow: everything" in said or any(part in said for part in ("\x1b", "\x07", "\u202e"))
