# surface: held
# A word that is struck out, or a number that is raised, is quoted from an office file as if it was neither.
import io
import zipfile
from xml.sax.saxutils import escape

from winnow.server.readers.formats import docx, rtf
from winnow.server.readers.formats.parsed_file import ReadOptions
from winnow.server.text.quotes.finding import SourceText, find_quote

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RUNS = (("It is ", ""), ("not", "<w:strike/>"), (" void. It has 10", ""), ("9", '<w:vertAlign w:val="superscript"/>'), (" m.", ""))  # fmt: skip
FALSE = ("It is not void", "It has 109 m")


def word_file():
    runs = "".join(
        f'<w:r><w:rPr>{look}</w:rPr><w:t xml:space="preserve">{escape(text)}</w:t></w:r>' for text, look in RUNS
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(
            "_rels/.rels",
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
            'Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{WORD}"><w:body><w:p>{runs}</w:p></w:body></w:document>',
        )
    file.seek(0)
    return file


def control():
    text = "".join(text for text, _ in RUNS)
    return all(find_quote(quote, SourceText(text)) for quote in FALSE)


def surface():
    rich = rb"{\rtf1\ansi It is {\strike not} void. It has 10{\super 9} m.\par}"
    texts = (docx.read(word_file(), ReadOptions()).text, rtf.read(io.BytesIO(rich), ReadOptions()).text)
    return any(find_quote(quote, SourceText(text)) for text in texts for quote in FALSE)
