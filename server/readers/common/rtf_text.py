"""The text of an RTF file, written token by token into Markdown blocks."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from winnow.server.models import HiddenReason
from winnow.server.readers.common.markdown_draft import one_line, plain_text, table
from winnow.server.readers.common.style_chain import why_hidden
from winnow.server.readers.common.unmarked_headings import embolden
from winnow.server.readers.documents import UnreadableFile
from winnow.server.text.markup.shaped_text import raise_number, strike_out

_DEEPEST_GROUP = 1_000
_DEEPEST_HEADING = 6
_DEEPEST_LIST = 9
# Text below three points is not meant to be read; sizes are in half points.
_LEAST_HALF_POINTS = 6
_HEADING_STYLE = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_NUMBER_MARK = re.compile(r"[0-9]{1,9}")
_LARGEST_NUMBER = 2**31
_SIGNS = {"~": "\xa0", "_": "-", "{": "{", "}": "}", "\\": "\\", "\t": " "}
_CHARACTERS = {
    "tab": " ",
    "line": "\n",
    "emdash": "\u2014",
    "endash": "\u2013",
    "lquote": "\u2018",
    "rquote": "\u2019",
    "ldblquote": "\u201c",
    "rdblquote": "\u201d",
    "bullet": "\u2022",
    "emspace": " ",
    "enspace": " ",
}
# Code pages of the character sets that fonts name.
_CHARACTER_SETS = {
    77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "cp950", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip
# Groups without text of the document. Groups with unknown names after ``\*`` are skipped, too.
_NAMES_WITHOUT_TEXT = """
    colortbl pict object objdata nonshppict shppict header headerl headerr headerf footer footerl footerr footerf
    fldinst bkmkstart bkmkend xe tc rxe listtable listoverridetable revtbl rsidtbl generator themedata datastore
    latentstyles colorschememapping xmlnstbl sp ftnsep ftnsepc aftnsep aftnsepc template filetbl
    atnid atnauthor atndate atnref atrfstart atrfend listlevel pnseclvl mmathPr
"""
_WITHOUT_TEXT = frozenset(_NAMES_WITHOUT_TEXT.split())
_COLLECTED = frozenset({"title", "author", "subject", "keywords"})
_STARRED = frozenset({"shpinst", "fldinst", "shptxt", "footnote", "bkmkstart", "bkmkend"})
_DATE = frozenset({"yr", "mo", "dy"})


@dataclass(frozen=True, slots=True)
class _State:
    """The state of a group, which the groups within it begin with.

    ``destination`` is where its text goes, "" for the document.
    """

    destination: str = ""
    is_starred: bool = False
    is_hidden: bool = False
    is_deleted: bool = False
    is_raised: bool = False
    is_struck: bool = False
    is_bold: bool = False
    size: int = 0
    color: int = 0
    is_filled: bool = False
    font: int = -1
    characters_after: int = 1


@dataclass(slots=True)
class _Paragraph:
    """The paragraph that is being written; ``is_bold``: so is all its text."""

    parts: list[str] = field(default_factory=list)
    is_bold: bool = True
    style: int = 0
    level: int = 0
    marker: str = ""
    depth: int = 0
    is_in_table: bool = False


class RtfWriter:
    """Takes the tokens of a file one by one; ``finish`` returns the blocks."""

    def __init__(self, *, keeps_hidden: bool) -> None:
        self.info: dict[str, str] = {}
        self.title = ""
        self.hidden = Counter[HiddenReason]()
        self.comments = 0
        self._keeps_hidden = keeps_hidden
        self._state = _State()
        self._stack: list[_State] = []
        self._paragraph = _Paragraph()
        self._outer: list[tuple[int, _Paragraph]] = []  # paragraphs that a note interrupts, with their depth
        self._blocks: list[str] = []
        self._notes: list[str] = []
        self._rows: list[list[str]] = []
        self._cells: list[str] = []
        self._cell: list[str] = []
        self._bytes = bytearray()
        self._skipped = 0  # characters still to be skipped after a Unicode character
        self._code_page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._levels: dict[int, int] = {}
        self._titles: set[int] = set()
        self._style = _Paragraph()
        self._colors = [""]

    # --- tokens

    def open_group(self) -> None:
        """Begin a group. Raises ``UnreadableFile`` if it is nested too deeply."""
        self._flush()
        if len(self._stack) >= _DEEPEST_GROUP:
            raise UnreadableFile("nested too deeply")
        self._stack.append(self._state)
        self._state = replace(self._state, is_starred=False)

    def close_group(self) -> bool:
        """End a group; return False for the outermost group."""
        self._flush()
        self._skipped = 0
        if not self._stack:
            return False
        ended, self._state = self._state, self._stack.pop()
        if ended.destination == "stylesheet" and self._state.destination == "stylesheet":
            self._end_style()
        if self._outer and self._outer[-1][0] == len(self._stack):
            self._end_note()
        return bool(self._stack)

    def text(self, run: str) -> None:
        """Take characters of the file, each of which is a byte."""
        if self._skipped:
            kept = run[self._skipped :]
            self._skipped -= len(run) - len(kept)
            run = kept
        self._bytes += run.encode("latin-1")

    def code(self, value: int) -> None:
        """Take a byte that is written as a number."""
        if self._skipped:
            self._skipped -= 1
        else:
            self._bytes.append(value)

    def sign(self, sign: str) -> None:
        """Take a control symbol."""
        if sign == "*":
            self._state = replace(self._state, is_starred=True)
        elif sign in "\r\n":
            self.word("par", None)
        elif sign in _SIGNS:
            self._flush()
            self._write(_SIGNS[sign])

    def word(self, word: str, number: int | None) -> None:
        """Take a control word."""
        self._flush()
        self._skipped = 0
        value = 0 if number is None or abs(number) > _LARGEST_NUMBER else number
        if self._state.is_starred and word not in _STARRED and self._state.destination != "stylesheet":
            self._state = replace(self._state, destination="skipped", is_starred=False)
        if word in _CHARACTERS:
            self._write(_CHARACTERS[word])
        elif word == "u":
            self._write(chr(value % 0x10000))
            self._skipped = self._state.characters_after
        elif not (self._enter(word) or self._set_document(word, value)):
            self._set_character(word, number, value)
            self._set_paragraph(word, value)

    def finish(self) -> Iterator[str]:
        """The blocks of the document and its notes."""
        self._flush()
        while self._outer:
            self._end_note()
        self._end_paragraph()
        self._end_table()
        yield from self._blocks
        yield "\n".join(f"{number}. {note}" for number, note in enumerate(self._notes, 1))

    # --- control words

    def _enter(self, word: str) -> bool:
        """Whether the word begins a group of another kind than text."""
        destination = self._state.destination
        if word in {"fonttbl", "stylesheet", "info", "colortbl"} or (destination == "info" and word in _COLLECTED):
            self._state = replace(self._state, destination=word)
        elif word in {"listtext", "pntext"} and not destination:
            self._paragraph.marker = ""
            self._state = replace(self._state, destination="marker")
        elif word == "footnote" and not destination:
            self._begin_note()
        elif word == "annotation":
            self.comments += 1
            self._state = replace(self._state, destination="skipped")
        elif word in _WITHOUT_TEXT:
            self._state = replace(self._state, destination="skipped")
        else:
            return False
        return True

    def _set_document(self, word: str, value: int) -> bool:
        """Apply a word about fonts, code pages, styles or the document; return whether it is such a word."""
        destination = self._state.destination
        if word == "ansicpg":
            self._code_page = _known(f"cp{value}")
        elif word in _DATE and destination == "info":
            self.info.setdefault(word, str(value))
        elif word == "fcharset" and destination == "fonttbl":
            self._fonts[self._state.font] = _CHARACTER_SETS.get(value, "")
        elif destination == "colortbl" and word in {"red", "green", "blue"}:
            self._colors[-1] += f"{value} "
        elif destination == "stylesheet" and word in {"s", "cs", "ds", "ts"}:
            self._style = _Paragraph(style=value if word == "s" else -1)
        elif destination == "stylesheet" and word == "outlinelevel":
            self._style.level = value + 1
        else:
            return False
        return True

    def _set_character(self, word: str, number: int | None, value: int) -> None:
        """Apply a word about the look of text."""
        match word:
            case "v":
                self._state = replace(self._state, is_hidden=number != 0)
            case "deleted":
                self._state = replace(self._state, is_deleted=number != 0)
            case "super" | "sub" | "nosupersub":
                self._state = replace(self._state, is_raised=word == "super" and number != 0)
            case "strike" | "striked":
                self._state = replace(self._state, is_struck=number != 0)
            case "b":
                self._state = replace(self._state, is_bold=number != 0)
            case "fs":
                self._state = replace(self._state, size=value)
            case "cf":
                self._state = replace(self._state, color=value)
            case "highlight" | "cb" | "chcbpat" | "cbpat":
                self._state = replace(self._state, is_filled=value != 0)
            case "f":
                self._state = replace(self._state, font=value)
            case "uc":
                self._state = replace(self._state, characters_after=min(max(value, 0), 10))
            case "plain":
                shown = _State(self._state.destination, self._state.is_starred)
                font, after = self._state.font, self._state.characters_after
                self._state = replace(shown, font=font, characters_after=after)

    def _set_paragraph(self, word: str, value: int) -> None:
        if self._state.destination:
            return
        match word:
            case "par" | "sect" | "page":
                self._end_paragraph()
            case "pard":
                self._paragraph.style = self._paragraph.level = self._paragraph.depth = 0
                self._paragraph.is_in_table = False
            case "s":
                self._paragraph.style = value
            case "outlinelevel":
                self._paragraph.level = value + 1
            case "ilvl":
                self._paragraph.depth = min(max(value, 0), _DEEPEST_LIST)
            case "intbl":
                self._paragraph.is_in_table = True
            case "cell" | "nestcell":
                self._end_cell()
            case "row":
                self._end_row()

    # --- text

    def _flush(self) -> None:
        """Decode the bytes so far by the font of the text."""
        if self._bytes:
            encoding = self._fonts.get(self._state.font) or self._code_page
            text = self._bytes.decode(encoding, "replace")
            self._bytes.clear()
            self._write(text)

    def _write(self, text: str) -> None:
        """Add text to the destination of the group."""
        match self._state.destination:
            case "":
                self._write_visible(text)
            case "marker":
                self._paragraph.marker += text
            case "colortbl":
                self._colors += [""] * text.count(";")
            case "stylesheet":
                self._style.parts.append(text)
            case name if name in _COLLECTED:
                self.info[name] = self.info.get(name, "") + text

    def _write_visible(self, text: str) -> None:
        if self._state.is_deleted:
            return
        if text.strip() and (why := self._why_hidden()):
            self.hidden[why] += 1
            if not self._keeps_hidden:
                return
        self._paragraph.is_bold &= self._state.is_bold or not text.strip()
        text = raise_number(text) if self._state.is_raised else text
        self._paragraph.parts.append(strike_out(text) if self._state.is_struck else text)

    def _why_hidden(self) -> HiddenReason | None:
        state = self._state
        color = self._colors[state.color] if 0 <= state.color < len(self._colors) else ""
        is_white = color.split() == ["255", "255", "255"]
        return why_hidden(
            is_set=state.is_hidden,
            is_tiny=0 < state.size < _LEAST_HALF_POINTS,
            is_like_ground=is_white and not (state.is_filled or self._paragraph.is_in_table),
        )

    # --- paragraphs, tables, notes, styles

    def _end_paragraph(self) -> None:
        """Write the paragraph; the next one has its properties."""
        paragraph = self._paragraph
        if self._outer:  # paragraphs of a note are one line
            paragraph.parts.append("\n")
            return
        text = _joined(paragraph.parts).strip()
        if paragraph.is_in_table:
            self._cell.append(text)
        elif text:
            self._end_table()
            self._blocks.append(self._block(text))
        self._paragraph = replace(paragraph, parts=[], marker="", is_bold=True)

    def _block(self, text: str) -> str:
        paragraph = self._paragraph
        level = paragraph.level or self._levels.get(paragraph.style, 0)
        if level and level <= len("123456789"):
            return f"{'#' * min(level, _DEEPEST_HEADING)} {one_line(text)}"
        if marker := paragraph.marker.strip():
            number = _NUMBER_MARK.match(marker)
            mark = f"{number[0]}." if number else "-"
            return f"{'   ' * paragraph.depth}{mark} {one_line(text)}"
        is_title = paragraph.style in self._titles
        if is_title and not self.title:
            self.title = one_line(text)
        return embolden(plain_text(text)) if is_title or paragraph.is_bold else plain_text(text)

    def _end_cell(self) -> None:
        if self._outer:
            return
        self._cell.append(_joined(self._paragraph.parts).strip())
        self._paragraph = replace(self._paragraph, parts=[], marker="", is_bold=True, is_in_table=True)
        self._cells.append(" ".join(filter(None, self._cell)))
        self._cell = []

    def _end_row(self) -> None:
        self._rows.append(self._cells)
        self._cells = []

    def _end_table(self) -> None:
        if self._cells:
            self._end_row()
        if self._rows:
            self._blocks.append(table(self._rows))
        self._rows = []

    def _begin_note(self) -> None:
        self._paragraph.parts.append(f"[{len(self._notes) + 1}]")
        self._notes.append("")
        self._outer.append((len(self._stack) - 1, self._paragraph))
        self._paragraph = _Paragraph()

    def _end_note(self) -> None:
        _, outer = self._outer.pop()
        self._notes[-1] = one_line(_joined(self._paragraph.parts))
        self._paragraph = outer

    def _end_style(self) -> None:
        """End a style of the style sheet; headings and titles are recognised by the names of styles."""
        name = _joined(self._style.parts).strip().rstrip(";").partition(";")[0].strip()
        heading = _HEADING_STYLE.fullmatch(name)
        if self._style.style >= 0 and (level := int(heading[1]) if heading else self._style.level):
            self._levels[self._style.style] = level
        if self._style.style >= 0 and name.casefold() == "title":
            self._titles.add(self._style.style)
        self._style = _Paragraph()


def _joined(parts: list[str]) -> str:
    """The text of parts; characters that two parts share as surrogates are put together."""
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _known(encoding: str) -> str:
    """The encoding if it decodes bytes, otherwise Windows-1252."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        return "cp1252"
    return encoding
