# surface: held
# Escape sequences and direction marks of a bibliography reach the terminal, or forge lines of an ingest's report.
from winnow.security.citation_target import citations, ingest_works

SIGNS = "\x1b[2J\x9b31m\x1b]0;t\x07\u202e\u2066\U000e0041"
FORGED = "\ndefault: 9,999 documents written"


def control():
    return "\x1b[2J" in f"not read: {SIGNS}{FORGED}"


def surface():
    text = f"x{SIGNS}{FORGED}"
    work = {"id": f"lantern{SIGNS}", "title": f"Lantern {text}", "author": [{"family": text}], "publisher": text}
    said = ingest_works([work, {"id": text, "title": "Lantern"}, {"id": text, "title": [[SIGNS]]}, {"id": 7, SIGNS: 1}])
    printed = "".join(citations("lantern", "--limit", "9").values()) + said
    forged = [line for line in printed.splitlines() if line.startswith(FORGED.strip())]
    return bool(forged) or "antern" not in printed or any(sign in printed for sign in f"{SIGNS[0]}\x9b\x07\u202e\u2066\U000e0041")
