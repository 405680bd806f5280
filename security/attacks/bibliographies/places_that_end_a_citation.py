# surface: held
# The label of a page, or the name of a sheet or a file, closes the citation that it stands in.
import re

from winnow.server.bibliographies.citing import CitedPlace, write_citations
from winnow.server.bibliographies.records import Creator, LibraryItem

ITEM = LibraryItem("k", "k", "book", "Lanterns", (Creator("Ohm", "G."),), 1827)
WORDS = "12][x](http://evil.example); @other \\input{/etc/passwd} `x`"
PLACES = (CitedPlace(WORDS), CitedPlace("", WORDS), CitedPlace("", WORDS, "a>)[x](http://evil.example)<\\"))
LINK = "a>)[x](http://evil.example)<\\"


def control():
    return "](http://evil.example)" in f"[@k, p. {WORDS}]" and f"](<{LINK}>)".startswith("](<a>)[x](http")


def surface():
    pandoc, bibtex, markdown = (
        write_citations([(ITEM, place) for place in PLACES], style).citations
        for style in ("pandoc", "bibtex", "markdown")
    )
    opened = any("][" in text or "; @" in text or re.search(r"(?<!\\)\]\(", text) for text in pandoc)
    commands = any(text.count("\\") != text.count("\\cite") or "][" in text for text in bibtex)
    (link,) = (text for text in markdown if "evil.example)<" not in text and "](<" in text)
    return opened or commands or link.count("](<") != 1 or "<a>" in link
