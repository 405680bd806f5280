# surface: held
# A glob of many stars takes exponential time on paths that almost match.
import re
import subprocess
import sys

from winnow.security.corpus_store import SEEN, answers, ingest_pages

GLOB = "*a" * 60 + "b"
NAME = "a" * 200


def control():
    pattern = re.escape(GLOB).replace(r"\*", "(.*)*")
    program = f"import re; re.fullmatch({pattern!r}, {NAME!r})"
    try:
        subprocess.run([sys.executable, "-c", program], timeout=5)
    except subprocess.TimeoutExpired:
        return True
    return False


def surface():
    ingest_pages({f"{number:02}/{NAME}.md": SEEN for number in range(40)})
    return '"documents": 0' not in answers("documents", GLOB).replace('"documents":0', '"documents": 0')
