"""Office documents made in code, for the tests of their readers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from datetime import date
from xml.sax.saxutils import escape

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE_LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"

CORE = """<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">
 <dc:title>Kept title</dc:title><dc:creator>Ada Example</dc:creator><cp:keywords>alpha, beta</cp:keywords>
 <dcterms:created>2026-01-02T03:04:05Z</dcterms:created></cp:coreProperties>"""


def zipped(entries: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    """A ZIP archive in memory."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    file.seek(0)
    return file


def links(*targets: tuple[str, str]) -> str:
    """The relationships of a part: pairs of a type and a target, with the ids rId1, rId2, and so on."""
    rows = (
        f'<Relationship Id="rId{number}" Type="{_LINKS}/{type}" Target="{target}"/>'
        for number, (type, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{_PACKAGE_LINKS}">{"".join(rows)}</Relationships>'


def docx(body: str, styles: str = "", others: Mapping[str, str] | None = None) -> io.BytesIO:
    """A Word document with this body, styles, and other parts."""
    kept = dict(others or {})
    named = [(name, f"{name}.xml") for name in ("styles", "numbering", "footnotes", "endnotes", "comments")]
    if styles:
        kept["word/styles.xml"] = f'<w:styles xmlns:w="{_WORD}">{styles}</w:styles>'
    part = (
        f'<w:document xmlns:w="{_WORD}" xmlns:r="{_LINKS}"'
        ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
        ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
        ' xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
        ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
        ' xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture">'
        f"<w:body>{body}</w:body></w:document>"
    )
    present = [(type, target) for type, target in named if f"word/{target}" in kept]
    return zipped(
        {
            "_rels/.rels": links(("officeDocument", "word/document.xml")),
            "word/document.xml": part,
            "word/_rels/document.xml.rels": links(*present, ("image", "media/image1.png")),
            "docProps/core.xml": CORE,
            **kept,
        }
    )


def paragraph(text: str, style: str = "", properties: str = "", run: str = "") -> str:
    """A paragraph of one run; ``properties`` and ``run`` are XML of their properties."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def xlsx(
    sheets: Mapping[str, Iterable[Iterable[object]]],
    hidden: Iterable[str] = (),
    others: Mapping[str, str] | None = None,
) -> io.BytesIO:
    """A workbook of these sheets; texts stand in their cells, numbers are numbers, None is no cell."""
    names = list(sheets)
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{number}" r:id="rId{number}"'
        f"{' state=' + chr(34) + 'hidden' + chr(34) if name in hidden else ''}/>"
        for number, name in enumerate(names, 1)
    )
    parts = {f"xl/worksheets/sheet{number}.xml": sheet_xml(sheets[name]) for number, name in enumerate(names, 1)}
    return zipped(
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
            "_rels/.rels": links(("officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{_SHEETS}" xmlns:r="{_LINKS}">'
            f"<sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": links(
                *(("worksheet", f"worksheets/sheet{number}.xml") for number in range(1, len(names) + 1)),
                ("styles", "styles.xml"),
            ),
            "xl/styles.xml": f'<styleSheet xmlns="{_SHEETS}"><cellXfs count="2"><xf numFmtId="0"/>'
            '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>',
            "docProps/core.xml": CORE,
            **parts,
            **(others or {}),
        }
    )


def sheet_xml(rows: Iterable[Iterable[object]]) -> str:
    """The XML of a sheet; a date is a number with the style of dates."""
    written = (
        f'<row r="{number}">{"".join(_cell(column, number, value) for column, value in enumerate(row))}</row>'
        for number, row in enumerate(rows, 1)
    )
    return f'<worksheet xmlns="{_SHEETS}"><sheetData>{"".join(written)}</sheetData></worksheet>'


def _cell(column: int, row: int, value: object) -> str:
    name = f"{_letters(column)}{row}"
    if value is None:
        return ""
    if isinstance(value, date):
        return f'<c r="{name}" s="1"><v>{(value - date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{name}"><v>{value!r}</v></c>'
    return f'<c r="{name}" t="inlineStr"><is><t xml:space="preserve">{escape(str(value))}</t></is></c>'


def _letters(column: int) -> str:
    before = _letters(column // 26 - 1) if column >= 26 else ""
    return before + chr(ord("A") + column % 26)


_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"


def pptx(
    slides: Mapping[str, str], notes: Mapping[str, str] | None = None, hidden: Iterable[str] = ()
) -> io.BytesIO:
    """A presentation of slides (name to shapes) of 1000 by 800 units, with notes for some."""
    parts: dict[str, str] = {}
    for name, shapes in slides.items():
        show = ' show="0"' if name in hidden else ""
        parts[f"ppt/slides/{name}.xml"] = _slide_xml("sld", shapes, show)
        if name in (notes or {}):
            parts[f"ppt/slides/_rels/{name}.xml.rels"] = links(("notesSlide", f"../notesSlides/{name}.xml"))
            spoken = shape((notes or {})[name], "body") + shape("1", "sldNum")
            parts[f"ppt/notesSlides/{name}.xml"] = _slide_xml("notes", spoken, "")
    listed = "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in range(1, len(slides) + 1))
    return zipped(
        {
            "_rels/.rels": links(("officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": f'<p:presentation xmlns:p="{_SLIDES}" xmlns:r="{_LINKS}">'
            f'<p:sldIdLst>{listed}</p:sldIdLst><p:sldSz cx="1000" cy="800"/></p:presentation>',
            "ppt/_rels/presentation.xml.rels": links(*(("slide", f"slides/{name}.xml") for name in slides)),
            "docProps/core.xml": CORE.replace("Kept title", "PowerPoint Presentation"),
            **parts,
        }
    )


def _slide_xml(root: str, shapes: str, attributes: str) -> str:
    return (
        f'<p:{root} xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}"{attributes}>'
        f"<p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:{root}>"
    )


def shape(text: str, role: str | None = None, named: str = "", frame: str = "", paragraphs: str = "") -> str:
    """A shape of one paragraph, or of these; ``role`` is the type of its placeholder, None without one."""
    placeholder = "" if role is None else f'<p:ph type="{role}"/>' if role else '<p:ph idx="1"/>'
    body = paragraphs or f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>"
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="1" name="a"{named}/><p:cNvSpPr/><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr>'
        f"<p:spPr>{frame}</p:spPr><p:txBody>{body}</p:txBody></p:sp>"
    )


_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
_ODF = {
    "office": _OFFICE,
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "style": "urn:oasis:names:tc:opendocument:xmlns:style:1.0",
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "fo": "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0",
    "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
    "presentation": "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0",
    "meta": "urn:oasis:names:tc:opendocument:xmlns:meta:1.0",
    "dc": "http://purl.org/dc/elements/1.1/",
}
_ODF_NAMES = " ".join(f'xmlns:{prefix}="{name}"' for prefix, name in _ODF.items())


def opendocument(
    body: str, styles: str = "", kind: str = "text", others: Mapping[str, str] | None = None
) -> io.BytesIO:
    """An OpenDocument file; ``kind`` is "text" or "presentation"."""
    content = (
        f"<office:document-content {_ODF_NAMES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    meta = (
        f"<office:document-meta {_ODF_NAMES}><office:meta><dc:title>Kept title</dc:title>"
        "<meta:initial-creator>Ada Example</meta:initial-creator>"
        "<meta:creation-date>2026-01-02T03:04:05</meta:creation-date></office:meta></office:document-meta>"
    )
    return zipped({"content.xml": content, "meta.xml": meta, **(others or {})})


def epub(
    chapters: Mapping[str, str],
    contents: str = "",
    spine: Iterable[str] | None = None,
    metadata: str = "",
    others: Mapping[str, str] | None = None,
) -> io.BytesIO:
    """A book of chapters (name to XHTML) with this navigation; ``spine`` names the chapters in reading order."""
    items = "".join(
        f'<item id="{name}" href="text/{name}.xhtml" media-type="application/xhtml+xml"/>' for name in chapters
    )
    order = "".join(f'<itemref idref="{name}"/>' for name in (chapters if spine is None else spine))
    package = (
        f'<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="{_ODF["dc"]}">{metadata}</metadata>'
        f'<manifest>{items}<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        f"</manifest><spine>{order}</spine></package>"
    )
    return zipped(
        {
            "META-INF/container.xml": "<container><rootfiles>"
            '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": package,
            "OEBPS/nav.xhtml": f"<html><body><nav>{contents}</nav></body></html>",
            **{f"OEBPS/text/{name}.xhtml": text for name, text in chapters.items()},
            **(others or {}),
        }
    )
