# surface: held
# A path, a field, a value or a title of 100 KB is compared with every document.
import fnmatch
import re

from winnow.security.corpus_store import answers, ingest_pages

LONG = "x" * 100_000


def control():
    return re.compile(fnmatch.translate(LONG)).match(LONG) is not None  # a program without bounds compares it


def surface():
    ingest_pages()
    said = [
        answers("documents", LONG),
        answers("documents", "[" * 50_000 + "*" * 50_000),
        answers("documents", "--where", f"stage={LONG}"),
        answers("documents", "--where", f"{LONG}=beta"),
        answers("documents", "--group-by", LONG),
        answers("read", LONG),
    ]
    return any("at most" not in answer or len(answer) > 2_000 for answer in said)
