# surface: held
# A repeat of a repeat, over a text that it almost matches.
from winnow.security.bomb_ingest import hangs
from winnow.security.scan_target import ingest, stalls

PATTERN = "(a+)+$"
TEXT = "a" * 40 + "b"


def control():
    return hangs(f"import re; re.search({PATTERN!r}, {TEXT!r})", "-I")


def surface():
    ingest({"almost.txt": f"{TEXT}\n" * 2_000})
    return stalls(PATTERN)
