# surface: held
# Ten thousand alternatives in a pattern of 100 KB, and a pattern that counts to thousands within thousands.
import re
import time

from winnow.security.scan_target import ingest, scan, stalls

ALTERNATIVES = "|".join(f"word{number}x?" for number in range(10_000))
COUNTED = "(?:(?:[ab]{0,30}c?){0,30}d?){0,30}e"


def control():
    started = time.process_time()
    re.compile(ALTERNATIVES)
    return len(ALTERNATIVES) > 100_000 and time.process_time() - started > 0.05


def surface():
    ingest({"words.txt": "word1 word2 abab\n" * 20_000})
    patterns = (ALTERNATIVES, ALTERNATIVES[:19_999].rpartition("|")[0], COUNTED, "(" * 9_000 + "a" + ")" * 9_000)
    refused = scan(ALTERNATIVES).get("error", {}).get("code") == "INVALID_ARGUMENT"
    return not refused or any(stalls(pattern) for pattern in patterns)
