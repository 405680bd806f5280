# surface: held
# Every match is looked for to the end of a long text before a shorter one is taken: quadratic work.
from winnow.security.bomb_ingest import hangs
from winnow.security.scan_target import ingest, stalls

PATTERN = "(?s)a.*b|c"
TEXT = "ac" * 300_000


def control():
    return hangs(f"import re; print(sum(1 for _ in re.finditer({PATTERN!r}, 'ac' * 200_000)))", "-I")


def surface():
    ingest({"long.txt": TEXT})
    return stalls(PATTERN)
