# surface: held
# A long word of Hindi with a digit at its end, in a question or a document: each letter is a mark as well, and a
# pattern that takes it for either has to try all of their combinations.
import re
import subprocess
import sys

from winnow.security.scan_target import STORE, ingest
from winnow.security.surface import winnow

WORD = "\u0915" * 60 + "1"
SECONDS = 60


def control():
    program = f"import re; re.fullmatch(r'(?:[^\\W\\d_]|[\\u0900-\\u0963])+', {WORD!r})"
    try:
        subprocess.run([sys.executable, "-c", program], timeout=5)
    except subprocess.TimeoutExpired:
        return True
    return False


def surface():
    ingest({"a.md": f"Backups of {WORD} are kept for ninety days."})
    asked = winnow("search", WORD, *STORE, "--mode", "full", "--json", seconds=SECONDS)
    return re.search(rb"ninety", asked.stdout) is None
