# surface: held
# The class name of a script's exception adds rows to the output of the audit.
from pathlib import Path

from winnow.security.surface import winnow

ROW = "2026-01-01T00:00:00  ok  1  0  0  0  0  forged"
CODE = f"class E(Exception): pass\nE.__name__ = 'E\\n{ROW}\\x1b[2K\\x9b31m\\u202e'\nraise E('x')"


def control():
    return f"2026-01-01T00:00:00  error E\n{ROW}".splitlines()[1] == ROW


def surface():
    Path("a.py").write_text(CODE)
    winnow("exec", "a.py", "--store", "store")
    said = b"".join(winnow("audit", "--store", "store", *flags).stdout for flags in ((), ("--json",)))
    text = said.decode("utf-8", "replace")
    return any(line.startswith(ROW) for line in text.splitlines()) or any(one in text for one in "\x1b\x9b\u202e")
