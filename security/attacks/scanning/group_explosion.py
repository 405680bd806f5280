# surface: held
# A key for every few characters of a long text of random words, all of which a plain counter keeps.
import random
import re
from collections import Counter

from winnow.security.scan_target import ingest, scan

PATTERN = r"[a-z0-9]{6}"


def text():
    draw = random.Random(1)
    return "\n".join(f"{draw.randrange(36**6):06x}"[-6:].zfill(6) for _ in range(150_000))


def control():
    return len(Counter(re.findall(PATTERN, text()))) > 120_000


def surface():
    ingest({"keys.txt": text()})
    answer = scan(PATTERN, "--group-by", "match")
    return "keys" not in answer.get("error", {}).get("message", "")
