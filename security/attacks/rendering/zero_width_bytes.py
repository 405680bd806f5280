# surface: held
# A message in zero widths, fillers and variation selectors hides behind a word.
from winnow.server.text.printable import one_line, printable

BITS = "\u200b\u200c"
MESSAGE = "".join(f"{byte:08b}" for byte in b"attack").translate({48: BITS[0], 49: BITS[1]})
SELECTORS = "".join(chr(0xE0100 + byte) for byte in b"attack")
FILLERS = "\u3164\u115f\u1160\uffa0\u2060\u2064\ufeff\u00ad\u180e\u034f"


def control():
    return len(f"word{MESSAGE}") == 52


def surface():
    hidden = (MESSAGE, f"\U0001f600{SELECTORS}"[1:], FILLERS)
    return any(printable(f"word{text}") != "word" or one_line(f"word{text}") != "word" for text in hidden)
