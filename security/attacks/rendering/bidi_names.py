# surface: held
# A name with direction marks is displayed as another name.
from winnow.server.text.printable import one_line, printable

NAME = "invoice\u202efdp.exe"
CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def control():
    return "\u202e" in f"not read: {NAME}"


def surface():
    return any(mark in printable(f"a{mark}b") or mark in one_line(f"a{mark}b") for mark in CONTROLS)
