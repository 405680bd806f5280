# surface: held
# After its ingest a file is replaced by one that says something else, which is shown as the cited page.
from pathlib import Path

from winnow.security.shown_pages import WORDS, check_that_pages_are_shown, ingest, is_shown, show, write_pdf

OTHER = WORDS.replace("are", "be ")


def prepare():
    write_pdf(Path("documents/paper.pdf"))


def replace():
    path = Path("documents/paper.pdf")
    path.write_bytes(path.read_bytes().replace(WORDS.encode(), OTHER.encode()))


def control():
    prepare()
    replace()
    return OTHER.encode() in Path("documents/paper.pdf").read_bytes()


def surface():
    prepare()
    ingest()
    check_that_pages_are_shown()
    replace()
    answer = show("paper.pdf", "--quote", WORDS)
    return is_shown() or answer["error"]["details"]["reason"] != "SOURCE_UNAVAILABLE"
