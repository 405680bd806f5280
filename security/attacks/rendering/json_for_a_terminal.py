# surface: held
# JSON output on a terminal contains characters that the terminal interprets.
import json
from pathlib import Path

from winnow.security.surface import winnow

HOSTILE = "needle \x9b2J \x9d0;t\x9c \u202e \U000e0041 \u2028 end"


def control():
    return "\x9b" in json.dumps({"text": HOSTILE}, ensure_ascii=False)


def surface():
    Path("documents").mkdir()
    Path("documents", "a\x9b2J\u202e.txt").write_text(HOSTILE, encoding="utf-8")
    said = b"".join(
        winnow(*command, "--store", "store", "--json").stdout
        for command in (("ingest", "documents"), ("search", "needle", "--mode", "full"), ("stats",))
    )
    return any(one in said.decode("utf-8", "replace") for one in "\x9b\x9d\x9c\u202e\u2028\U000e0041")
