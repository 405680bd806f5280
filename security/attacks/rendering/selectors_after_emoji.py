# surface: held
# Bytes hide as variation selectors, one after the other, behind an emoji.
from winnow.server.text.printable import printable

HIDDEN = "\U0001f600" + "".join(chr(0xFE00 + byte % 16) + chr(0xE0100 + byte) for byte in b"attack at dawn")


def control():
    return len(HIDDEN) == 29


def surface():
    return len(printable(HIDDEN)) > 2
