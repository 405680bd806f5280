"""Books become Markdown: a chapter is a place with its title from the table of contents."""

from __future__ import annotations

import io

import pytest

from tests.office_files import epub, zipped
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats import epub as reader
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions

_CHAPTER = (
    '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{}</body></html>'
)


def _read(file: io.BytesIO) -> ParsedFile:
    return reader.read(file, ReadOptions())


def test_chapters_are_places_in_reading_order() -> None:
    """The spine says the order, the table of contents the titles; elements that XML closes at once stay empty."""
    chapters = {
        "b": _CHAPTER.format('<h1>Second</h1><a id="p"/><p>two <a href="a.xhtml#n">[1]</a></p>'),
        "a": _CHAPTER.format("<article><h1>First</h1></article><article><p>one</p></article>"),
    }
    contents = '<ol><li><a href="text/a.xhtml">Chapter <b>A</b></a></li></ol>'
    parsed = _read(epub(chapters, contents, spine=["a", "b"]))
    assert parsed.text == "# First\n\none\n\n# Second\n\ntwo [1]"
    assert [(place.kind, place.number, place.label) for place in parsed.places] == [
        ("chapter", 1, "Chapter A"),
        ("chapter", 2, "Second"),
    ]
    assert parsed.text[parsed.places[1].start :].startswith("# Second")


def test_titles_come_from_the_older_table_of_contents_where_there_is_no_other() -> None:
    """EPUB 2 has an NCX, with a document type that declares nothing."""
    ncx = (
        '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">'
        "<ncx><navMap><navPoint><navLabel><text>Old chapter</text></navLabel>"
        '<content src="a.html#x"/></navPoint></navMap></ncx>'
    )
    package = (
        '<package><manifest><item id="a" href="a.html" media-type="text/html"/>'
        '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>'
        '<spine toc="n"><itemref idref="a"/></spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>'
    entries = {"META-INF/container.xml": container, "book.opf": package, "toc.ncx": ncx, "a.html": "<p>text</p>"}
    assert _read(zipped(entries)).places[0].label == "Old chapter"


def test_a_book_that_was_packed_with_its_folder_is_read() -> None:
    container = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    package = (
        '<package><manifest><item id="a" href="a.html" media-type="text/html"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    entries = {
        "epub/META-INF/container.xml": container,
        "epub/OEBPS/book.opf": package,
        "epub/OEBPS/a.html": "<p>The text of a book.</p>",
    }
    assert _read(zipped(entries)).text.strip() == "The text of a book."


def test_the_facts_of_a_book() -> None:
    """Title, authors, language, date, publisher and ISBN."""
    metadata = (
        "<dc:title>Moby Dick</dc:title><dc:creator>Herman Melville</dc:creator><dc:creator>Another</dc:creator>"
        "<dc:language>en</dc:language><dc:date>1851-10-18</dc:date><dc:publisher>Harper</dc:publisher>"
        "<dc:identifier>uuid:1</dc:identifier><dc:identifier>urn:isbn:978-0-306-40615-7</dc:identifier>"
    )
    parsed = _read(epub({"a": _CHAPTER.format("x")}, metadata=metadata))
    assert parsed.title == "Moby Dick"
    assert parsed.facts == {
        "author": "Herman Melville, Another",
        "language": "en",
        "created": "1851-10-18",
        "publisher": "Harper",
        "isbn": "9780306406157",
    }


def test_a_spine_that_names_a_chapter_again_and_again_reads_it_once() -> None:
    """Ids that no file has are passed over."""
    parsed = _read(epub({"a": _CHAPTER.format("<p>text</p>")}, spine=["a", "missing", "a", "nav"] * 1000))
    assert (parsed.text, len(parsed.places)) == ("text", 1)


def test_a_protected_book_says_so_and_obfuscated_fonts_do_not_matter() -> None:
    """The text of a protected book cannot be read by anyone but its reader."""

    def encrypted(method: str) -> io.BytesIO:
        entry = f'<EncryptedData><EncryptionMethod Algorithm="{method}"/></EncryptedData>'
        return epub({"a": "<p>text</p>"}, others={"META-INF/encryption.xml": f"<encryption>{entry}</encryption>"})

    assert _read(encrypted("http://www.idpf.org/2008/embedding")).text == "text"
    with pytest.raises(UnreadableFile, match="protected against copying"):
        _read(encrypted("http://www.w3.org/2001/04/xmlenc#aes128-cbc"))


def test_a_chapter_that_cannot_be_read_is_named_and_the_others_are_read() -> None:
    """One broken chapter does not lose a book."""
    deep = "<div>" * 500 + "x" + "</div>" * 500
    parsed = _read(epub({"a": deep, "b": "<p>text</p>"}))
    assert (parsed.text, parsed.places[0].number) == ("text", 2)
    assert parsed.reading.notes == ("chapter 1 was not read: nested too deeply",)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"text", "not a EPUB file"),
        (zipped({"a.txt": "x"}).getvalue(), "not an EPUB file"),
        (zipped({"META-INF/container.xml": "<container/>"}).getvalue(), "does not say where its book is"),
        (epub({"a": "x"}, others={"OEBPS/book.opf": "<package>"}).getvalue(), "not well-formed"),
    ],
    ids=["text", "zip", "container", "package"],
)
def test_a_file_that_is_no_book_has_a_plain_reason(data: bytes, reason: str) -> None:
    """No exception of a parser is passed on."""
    with pytest.raises(UnreadableFile, match=reason):
        _read(io.BytesIO(data))
