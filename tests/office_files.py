"""Office documents made in code, for the tests of their readers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
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
