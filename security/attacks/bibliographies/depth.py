# surface: held
# Braces, lists and commands nested so deep that a reader ends, and the other works are lost.
import json

from winnow.server.bibliographies.reading import read_bibliography

DEEP = "{" * 100_000 + "x" + "}" * 100_000
LISTS = "[" * 100_000 + "]" * 100_000


def control():
    try:
        json.loads(LISTS)
    except RecursionError:
        return True
    return False


def surface():
    texts = {
        ".bib": [
            f"@a{{good, title={{Good}}}}\n@a{{deep, title={DEEP}}}",
            "@a{good, title={Good}}\n@a{deep, title={" + "\\emph{" * 20_000,
            "@a{good, title={Good}}\n" + "@a{" * 20_000,
        ],
        ".json": [f'[{{"id": "good", "title": "Good"}}, {{"id": "deep", "title": {LISTS}}}]'],
        ".ris": ["TY  - BOOK\nID  - good\nTI  - Good\nER  - \nTY  - BOOK\n" + "KW  - \n" * 50_000 + "ER  - \n"],
    }
    reads = [read_bibliography(text, suffix) for suffix, several in texts.items() for text in several]
    return any("good" not in [item.citekey for item in read.items] for read in reads)
