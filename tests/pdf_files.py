"""Small PDF files made in code: the tests need neither a library that writes PDF nor files of others."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

A4 = (595, 842)
_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text: where, how large, in which colour (RGB, 0 to 1) and render mode (3 is invisible).

    ``turn``: the first four numbers of its matrix. ``clip``: its clip path, a rectangle.
    """

    x: float
    y: float
    text: str
    size: float = 10
    bold: bool = False
    color: tuple[float, float, float] = (0, 0, 0)
    mode: int = 0
    mono: bool = False
    turn: str = "1 0 0 1"
    clip: str = ""

    def draw(self) -> str:
        red, green, blue = self.color
        font = "F3" if self.mono else "F2" if self.bold else "F1"
        text = (
            f"BT {red} {green} {blue} rg {red} {green} {blue} RG /{font} {self.size} Tf {self.mode} Tr "
            f"{self.turn} {self.x} {self.y} Tm ({_escape(self.text)}) Tj ET"
        )
        return f"q {self.clip} re W n {text} Q" if self.clip else text


@dataclass(frozen=True, slots=True)
class WithMinus:
    """A line of text with a minus sign of a font for formulas, whose signs have boxes as high as two lines."""

    x: float
    y: float
    before: str
    after: str
    size: float = 10

    def draw(self) -> str:
        return (
            f"BT 0 0 0 rg 0 Tr /F1 {self.size} Tf 1 0 0 1 {self.x} {self.y} Tm ({_escape(self.before)} ) Tj "
            f"/F4 {self.size} Tf (-) Tj /F1 {self.size} Tf ( {_escape(self.after)}) Tj ET"
        )


@dataclass(frozen=True, slots=True)
class WithLetters:
    """A line of text whose parts in braces, of j and k, are in a font that has them as letters of mathematics."""

    x: float
    y: float
    text: str

    def draw(self) -> str:
        parts = re.split("[{}]", self.text)
        shown = " ".join(
            f"/{'F11' if place % 2 else 'F1'} 10 Tf ({_escape(part)}) Tj" for place, part in enumerate(parts)
        )
        return f"BT 0 0 0 rg 0 Tr 1 0 0 1 {self.x} {self.y} Tm {shown} ET"


@dataclass(frozen=True, slots=True)
class TwoFonts:
    """A line of text and a name in letters of one width after it, so many thousandths of the size apart."""

    x: float
    y: float
    text: str
    name: str
    gap: int

    def draw(self) -> str:
        return (
            f"BT 0 0 0 rg 0 Tr /F1 10 Tf 1 0 0 1 {self.x} {self.y} Tm ({_escape(self.text)}) Tj "
            f"/F3 10 Tf [{-self.gap} ({_escape(self.name)})] TJ ET"
        )


@dataclass(frozen=True, slots=True)
class Japanese:
    """A line of text in a font of this name: Mincho or Gothic."""

    x: float
    y: float
    text: str
    font: str

    def draw(self) -> str:
        font = {"Mincho": "F12", "Gothic": "F13"}[self.font]
        return f"BT 0 0 0 rg 0 Tr /{font} 10 Tf 1 0 0 1 {self.x} {self.y} Tm ({_escape(self.text)}) Tj ET"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A text in a font whose letters are drawings (Type 3), as dvips has them: its stated size is far below 1.

    ``stated``: it is 1 or 8, as other programs have it.
    """

    x: float
    y: float
    text: str
    stated: float = 0.24

    def draw(self) -> str:
        font = {0.24: "/F5 0.24", 1: "/F10 1", 8: "/F7 8"}[self.stated]
        return f"BT 0 0 0 rg 0 Tr {font} Tf 1 0 0 1 {self.x} {self.y} Tm ({_escape(self.text)}) Tj ET"


@dataclass(frozen=True, slots=True)
class NamedSigns:
    """A text in drawn letters as Acrobat has those of old files of TeX: signs have codes of their own and names.

    "<" is a sign that no font of text has.
    """

    x: float
    y: float
    text: str

    def draw(self) -> str:
        codes = {ord(sign): code for code, sign in enumerate(",5-.\ufb01<", 2)}
        text = self.text.translate(codes)
        return f"BT 0 0 0 rg 0 Tr /F8 0.24 Tf 1 0 0 1 {self.x} {self.y} Tm ({text}) Tj ET"


@dataclass(frozen=True, slots=True)
class Ligatures:
    """A text in a font with a name whose ligatures are named by their parts, at codes of its own: 27 is "fi"."""

    x: float
    y: float
    text: str

    def draw(self) -> str:
        return f"BT 0 0 0 rg 0 Tr /F6 10 Tf 1 0 0 1 {self.x} {self.y} Tm ({_escape(self.text)}) Tj ET"


@dataclass(frozen=True, slots=True)
class Enlarged:
    """A line of text in a font whose stated size is 1, enlarged by its matrix, as FrameMaker has it."""

    x: float
    y: float
    text: str
    size: float = 10

    def draw(self) -> str:
        scale = f"{self.size} 0 0 {self.size} {self.x} {self.y}"
        return f"BT 0 0 0 rg 0 Tr /F1 1 Tf {scale} Tm ({_escape(self.text)}) Tj ET"


@dataclass(frozen=True, slots=True)
class Box:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    color: tuple[float, float, float]

    def draw(self) -> str:
        red, green, blue = self.color
        return f"{red} {green} {blue} rg {self.x} {self.y} {self.width} {self.height} re f"


@dataclass(frozen=True, slots=True)
class Stroke:
    """A thin line across."""

    x: float
    y: float
    width: float

    def draw(self) -> str:
        return f"0.4 w {self.x} {self.y} m {self.x + self.width} {self.y} l S"


@dataclass(frozen=True, slots=True)
class Picture:
    """A grey picture over the whole page."""

    def draw(self) -> str:
        return f"q {A4[0]} 0 0 {A4[1]} 0 0 cm /Im1 Do Q"


@dataclass(frozen=True, slots=True)
class Form:
    """Drawings in a form, a content stream of its own that the page refers to; ``depth`` forms in each other."""

    parts: tuple[Text | Box, ...]
    depth: int = 1

    def draw(self) -> str:
        return "/Fm1 Do"


@dataclass(frozen=True, slots=True)
class Link:
    """An address over a rectangle of the page."""

    x: float
    y: float
    width: float
    height: float
    address: str


@dataclass(frozen=True, slots=True)
class Corner:
    """A corner of a box that is a letter of a font of TeX for drawings; the font calls it by a dingbat's name."""

    x: float
    y: float

    def draw(self) -> str:
        return f"BT 0 0 0 rg 0 Tr /F9 10 Tf 1 0 0 1 {self.x} {self.y} Tm (A) Tj ET"


Drawing = (
    Text
    | WithMinus
    | WithLetters
    | TwoFonts
    | Japanese
    | Drawn
    | NamedSigns
    | Enlarged
    | Box
    | Stroke
    | Picture
    | Form
    | Corner
)


@dataclass(frozen=True, slots=True)
class PdfFile:
    """What a file holds. ``labels`` are numbers of a PageLabels tree; ``outline`` titles, pages from 0, levels."""

    pages: Sequence[Sequence[Drawing]]
    info: Mapping[str, str] = field(default_factory=dict)
    labels: str = ""
    outline: Sequence[tuple[str, int, int]] = ()
    links: Mapping[int, Sequence[Link]] = field(default_factory=dict)
    attachment: tuple[str, bytes] | None = None
    password: str | None = None
    media_box: tuple[float, float] = A4


def paragraph(x: float, y: float, lines: Iterable[str], size: float = 10) -> list[Text]:
    """Lines below each other, the first at ``y``."""
    return [Text(x, y - place * size * 1.25, line, size) for place, line in enumerate(lines)]


def build_pdf(file: PdfFile) -> bytes:
    """The file's bytes, with a cross-reference table; encrypted (RC4, 40 bits) if it has a password."""
    return _Writer(file).write()


_LIBERTINE = (
    "<< /Type /FontDescriptor /FontName /ABCDEF+LinLibertineT /Flags 4 /FontBBox [0 -200 1000 900]"
    " /Ascent 800 /Descent -200 /CapHeight 650 /ItalicAngle 0 /StemV 80 >>"
)


_BY_CODE: Mapping[int, str] = MappingProxyType({code: f"a{code}" for code in (21, *range(27, 32), 0x20, 0x9F)})


class _Writer:
    """Numbers the objects of a file and writes them."""

    def __init__(self, file: PdfFile) -> None:
        self.file = file
        self.objects: list[tuple[str, bytes | None]] = []
        self.key: bytes | None = None

    def write(self) -> bytes:
        """Catalogue (1) and page tree (2) have fixed numbers; all others follow as they are added."""
        catalogue, tree = self._add(""), self._add("")
        fonts = [self._add(f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>")
                 for name in ("Helvetica", "Helvetica-Bold", "Courier")]  # fmt: skip
        fonts += [self._symbols(), self._drawn(1), self._libertine(), self._drawn(0.03)]
        fonts += [self._drawn(1, dict(enumerate((",", "5", "-", ".", "#0C", "#1A"), 2))), self._shapes()]
        fonts += [self._drawn(0.24), self._mathematics(), *map(self._japanese, ("Mincho", "Gothic"))]
        image = self._add("<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray"
                          " /BitsPerComponent 8", b"\x80")  # fmt: skip
        pages = [self._page(number, drawings, fonts, image) for number, drawings in enumerate(self.file.pages)]
        kids = " ".join(f"{page} 0 R" for page in pages)
        self.objects[tree - 1] = (f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>", None)
        more = self._labels() + self._outline(pages) + self._attachment()
        self.objects[catalogue - 1] = (f"<< /Type /Catalog /Pages {tree} 0 R{more} >>", None)
        return self._file(self._trailer())

    def _add(self, dictionary: str, stream: bytes | None = None) -> int:
        self.objects.append((dictionary, stream))
        return len(self.objects)

    def _page(self, number: int, drawings: Sequence[Drawing], fonts: list[int], image: int) -> int:
        content = "\n".join(drawing.draw() for drawing in drawings).encode("cp1252")
        stream = self._add("<<", content)
        width, height = self.file.media_box
        named = " ".join(f"/F{place} {font} 0 R" for place, font in enumerate(fonts, 1))
        common = f"/Font << {named} >>"
        forms = "".join(f" /Fm1 {self._form(part, common)} 0 R" for part in drawings if isinstance(part, Form))
        links = " ".join(f"{self._link(link)} 0 R" for link in self.file.links.get(number, ()))
        return self._add(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents {stream} 0 R"
            f" /Annots [{links}] /Resources << {common} /XObject << /Im1 {image} 0 R{forms} >> >> >>"
        )

    def _symbols(self) -> int:
        """A font with a minus sign, as TeX has them: what it says of its signs makes their boxes high."""
        descriptor = self._add(
            "<< /Type /FontDescriptor /FontName /ABCDEF+CMSY10 /Flags 4 /FontBBox [-29 -960 1116 775]"
            " /Ascent 750 /Descent -960 /CapHeight 683 /ItalicAngle 0 /StemV 40 >>"
        )
        return self._add(
            "<< /Type /Font /Subtype /Type1 /BaseFont /ABCDEF+CMSY10 /FirstChar 45 /LastChar 45 /Widths [778]"
            f" /FontDescriptor {descriptor} 0 R /Encoding << /Type /Encoding /Differences [45 /minus] >> >>"
        )

    def _shapes(self) -> int:
        """A font whose letter A is a corner of a box; its name is that of a sign which is no letter."""
        descriptor = self._add(_LIBERTINE.replace("LinLibertineT", "LCIRCLE10"))
        signs = self._add(
            "<<", b"1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfchar <41> <2713> endbfchar"
        )
        return self._add(
            "<< /Type /Font /Subtype /Type1 /BaseFont /ABCDEF+LCIRCLE10 /FirstChar 65 /LastChar 65 /Widths [400]"
            f" /FontDescriptor {descriptor} 0 R /ToUnicode {signs} 0 R >>"
        )

    def _mathematics(self) -> int:
        """An italic font whose letters j and k are those that Unicode has for mathematics."""
        signs = self._add(
            "<<",
            b"1 begincodespacerange <00> <ff> endcodespacerange "
            b"2 beginbfchar <6A> <D835DC57> <6B> <D835DC58> endbfchar",
        )
        return self._add(f"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Italic /ToUnicode {signs} 0 R >>")

    def _japanese(self, name: str) -> int:
        descriptor = self._add(_LIBERTINE.replace("LinLibertineT", f"Kochi-{name}"))
        return self._add(
            f"<< /Type /Font /Subtype /Type1 /BaseFont /ABCDEF+Kochi-{name} /FirstChar 32 /LastChar 122"
            f" /Widths [{'500 ' * 91}] /FontDescriptor {descriptor} 0 R /Encoding /WinAnsiEncoding >>"
        )

    def _libertine(self) -> int:
        return self._add(
            "<< /Type /Font /Subtype /Type1 /BaseFont /ABCDEF+LinLibertineT /FirstChar 27 /LastChar 122"
            f" /Widths [{'500 ' * 96}] /FontDescriptor {self._add(_LIBERTINE)} 0 R"
            " /Encoding << /Type /Encoding /Differences [27 /f_i /f_f_i /f_f] >> >>"
        )

    def _drawn(self, scale: float, signs: Mapping[int, str] = _BY_CODE) -> int:
        """A font whose letters are rectangles, 30 units high; that of "i" is 4 units wide.

        Its letters are those from a to z, with signs, or with some of the encoding T1 whose names say nothing, as
        dvips writes them: five ligatures, a dash and a section sign.
        """
        wide, narrow = (
            self._add("<<", f"{width} 0 0 0 {width - 2} 30 d1 0 0 {width - 2} 30 re f".encode())
            for width in (20, 6)
        )
        names = {**signs} | {code: chr(code) for code in range(97, 123)}
        first, last = min(names), max(names)
        drawings = " ".join(f"/{name} {narrow if name == 'i' else wide} 0 R" for name in names.values())
        widths = " ".join("6" if names.get(code) == "i" else "20" for code in range(first, last + 1))
        stated = " ".join(f"{code} /{name}" for code, name in names.items())
        return self._add(
            f"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 20 30] /FontMatrix [{scale} 0 0 {scale} 0 0]"
            f" /FirstChar {first} /LastChar {last} /Widths [{widths}] /CharProcs << {drawings} >> /Resources << >>"
            f" /Encoding << /Type /Encoding /Differences [{stated}] >> >>"
        )

    def _form(self, form: Form, resources: str) -> int:
        content = "\n".join(part.draw() for part in form.parts).encode("cp1252")
        number = self._add_form(resources, content)
        for _ in range(form.depth - 1):
            number = self._add_form(f"{resources} /XObject << /Fm1 {number} 0 R >>", b"/Fm1 Do")
        return number

    def _add_form(self, resources: str, content: bytes) -> int:
        return self._add(
            f"<< /Type /XObject /Subtype /Form /BBox [0 0 {A4[0]} {A4[1]}] /Resources << {resources} >>", content
        )

    def _link(self, link: Link) -> int:
        rectangle = f"[{link.x} {link.y} {link.x + link.width} {link.y + link.height}]"
        return self._add(
            f"<< /Type /Annot /Subtype /Link /Rect {rectangle} /A << /S /URI /URI ({_escape(link.address)}) >> >>"
        )

    def _labels(self) -> str:
        return f" /PageLabels << /Nums [{self.file.labels}] >>" if self.file.labels else ""

    def _outline(self, pages: list[int]) -> str:
        """Entries of level 2 belong to the entry of level 1 before them."""
        if not self.file.outline:
            return ""
        root = self._add("")
        self._entries(root, [(title, page, level) for title, page, level in self.file.outline], pages, 1)
        return f" /Outlines {root} 0 R"

    def _entries(self, parent: int, entries: list[tuple[str, int, int]], pages: list[int], level: int) -> None:
        """Write the entries of one level below ``parent``, and those below each of them."""
        heads = [place for place, entry in enumerate(entries) if entry[2] == level]
        numbers = [self._add("") for _ in heads]
        for place, (start, number) in enumerate(zip(heads, numbers, strict=True)):
            below = entries[start + 1 : heads[place + 1] if place + 1 < len(heads) else None]
            title, page, _ = entries[start]
            before = f" /Prev {numbers[place - 1]} 0 R" if place else ""
            after = f" /Next {numbers[place + 1]} 0 R" if place + 1 < len(numbers) else ""
            target = f" /Dest [{pages[page]} 0 R /Fit]"
            self.objects[number - 1] = (
                f"<< /Title ({_escape(title)}) /Parent {parent} 0 R{before}{after}{target} >>",
                None,
            )
            if below:
                self._entries(number, below, pages, level + 1)
        dictionary = self.objects[parent - 1][0].removesuffix(">>") or "<< /Type /Outlines"
        span = f" /First {numbers[0]} 0 R /Last {numbers[-1]} 0 R >>"
        self.objects[parent - 1] = (dictionary + span, None)

    def _attachment(self) -> str:
        if self.file.attachment is None:
            return ""
        name, data = self.file.attachment
        stream = self._add("<< /Type /EmbeddedFile", data)
        spec = self._add(f"<< /Type /Filespec /F ({name}) /UF ({name}) /EF << /F {stream} 0 R >> >>")
        return f" /Names << /EmbeddedFiles << /Names [({name}) {spec} 0 R] >> >>"

    def _trailer(self) -> str:
        entries = ""
        if self.file.info:
            pairs = " ".join(f"/{key} ({_escape(value)})" for key, value in self.file.info.items())
            entries += f" /Info {self._add(f'<< {pairs} >>')} 0 R"
        if self.file.password is not None:
            entries += f" /Encrypt {self._encryption(self.file.password)} 0 R /ID [<{'00' * 16}> <{'00' * 16}>]"
        return entries

    def _encryption(self, password: str) -> int:
        """The standard security handler, revision 2 (PDF 1.7, 7.6.3); user and owner have one password."""
        padded = (password.encode("cp1252") + _PADDING)[:32]
        owner = _rc4(hashlib.md5(padded).digest()[:5], padded)
        key = hashlib.md5(padded + owner + (-4 & 0xFFFFFFFF).to_bytes(4, "little") + bytes(16)).digest()[:5]
        number = self._add(
            f"<< /Filter /Standard /V 1 /R 2 /O <{owner.hex()}> /U <{_rc4(key, _PADDING).hex()}> /P -4 >>"
        )
        self.key = key
        return number

    def _file(self, trailer: str) -> bytes:
        out, places = b"%PDF-1.7\n", []
        for number, (dictionary, stream) in enumerate(self.objects, 1):
            places.append(len(out))
            out += f"{number} 0 obj\n".encode() + self._body(number, dictionary, stream) + b"\nendobj\n"
        table = "".join(f"{place:010} 00000 n \n" for place in places)
        size = len(places) + 1
        return out + (
            f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R{trailer} >>\n"
            f"startxref\n{len(out)}\n%%EOF\n"
        ).encode("cp1252")

    def _body(self, number: int, dictionary: str, stream: bytes | None) -> bytes:
        """Strings of dictionaries stay as they are: the tests of encrypted files look at pages only."""
        if stream is None:
            return dictionary.encode("cp1252")
        if self.key is not None:
            stream = _rc4(hashlib.md5(self.key + number.to_bytes(3, "little") + bytes(2)).digest()[:10], stream)
        return f"{dictionary} /Length {len(stream)} >>\nstream\n".encode("cp1252") + stream + b"\nendstream"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _rc4(key: bytes, data: bytes) -> bytes:
    state, at = list(range(256)), 0
    for place in range(256):
        at = (at + state[place] + key[place % len(key)]) % 256
        state[place], state[at] = state[at], state[place]
    out, left, right = bytearray(), 0, 0
    for byte in data:
        left = (left + 1) % 256
        right = (right + state[left]) % 256
        state[left], state[right] = state[right], state[left]
        out.append(byte ^ state[(state[left] + state[right]) % 256])
    return bytes(out)
