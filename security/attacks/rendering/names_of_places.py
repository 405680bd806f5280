# surface: held
# Titles of chapters and slides, names of sheets and of a file add lines, citations or unseen characters to a list.
import zipfile
from pathlib import Path

from winnow.security.surface import winnow

FORGED = "next_cursor: 9.9.9"
# XML holds no control characters; these break or hide what follows them.
HOSTILE = f"T\u202e\u200b\u2028{FORGED}&#10;{FORGED}&#13;] [other.pdf, p. 1"
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
    '<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{hostile}</dc:title></metadata><manifest>'
    '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="nav"/></manifest>'
    '<spine><itemref idref="c"/></spine></package>'
)
PAGE = (
    '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{hostile}</title></head><body>{body}</body></html>'
)
NAVIGATION = '<nav xmlns:epub="http://www.idpf.org/2007/ops" epub:type="toc"><ol><li><a href="c.xhtml">{hostile}</a></li></ol></nav>'
NAME = f"b\x1b[2J\n{FORGED}\r.epub"
CALLS = (
    ("search", "lantern"),
    ("search", "lantern", "--mode", "metadata"),
    ("search", "lantern", "--explain"),
    ("quote", "where is the lantern?"),
    ("scan", "lantern"),
    ("read", "book.epub"),
    ("documents",),
    ("doctor", "--documents"),
    ("ingest", "--explain", "documents/book.epub", "--allow-weaker-reader"),
    ("ingest", "--explain", f"documents/{NAME}", "--allow-weaker-reader"),
)


def _harms(said):
    return any(part in said for part in "\x1b\u202e\u200b\u2028\r") or any(
        line.startswith(FORGED) for line in said.splitlines()
    )


def _write_book(path):
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr("META-INF/container.xml", CONTAINER)
        book.writestr("book.opf", PACKAGE.format(hostile=HOSTILE))
        body = f"<h1>{HOSTILE}</h1><p>The lantern hangs here.</p>"
        book.writestr("c.xhtml", PAGE.format(hostile=HOSTILE, body=body))
        navigation = NAVIGATION.format(hostile=HOSTILE)
        book.writestr("n.xhtml", PAGE.format(hostile=HOSTILE, body=navigation))


def control():
    title = HOSTILE.replace("&#10;", "\n").replace("&#13;", "\r")
    return _harms(f'[{NAME}, chapter 1 "{title}"]')


def surface():
    Path("documents").mkdir()
    for name in ("book.epub", NAME):
        _write_book(Path("documents", name))
    ingested = winnow("ingest", "documents", "--store", "store", "--allow-weaker-reader")
    assert ingested.returncode == 0, ingested.stderr
    said = []
    for command, *options in CALLS:
        for form in ((), ("--json",)):
            done = winnow(command, *options, "--store", "store", *form)
            said.append((done.stdout + done.stderr).decode("utf-8", "surrogateescape"))
    assert "chapter 1" in said[0], said[0]
    return any(map(_harms, said))
