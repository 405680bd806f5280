r"""Removes terminal escapes, control characters and invisible characters from text.

Text of documents and scripts ends up in terminals, logs and models. Escape sequences are removed completely, so
that no ``[31m`` remains; line ends and tabs stay; nothing is escaped for HTML, which would change the text.
Invisible characters (directions, tags, zero widths, fillers) are removed because a model reads what a person does
not see. They stay only where a writing system needs them: joiners after letters that join, joiners between the
parts of an emoji, and one variation selector directly after a character that has variants.

``printable`` is for bodies of several lines, ``one_line`` for names, titles and messages, ``visible_json`` for
JSON on its way to a terminal or a file. Each takes time in proportion to the length of the text.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from winnow.server.text.forms.splicing import SplicedText, splice

ONE_LINE_CHARS = 500  # titles, sections and file names longer than this are noise

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
# Every format character, and every other character that is not drawn. The number signs of Arabic, Syriac and
# Kaithi are format characters too, but are drawn.
_UNSEEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SURROGATES = r"\ud800-\udfff"

# Characters directly after which an unseen character stays.
_JOINING = (  # letters and marks of scripts whose letters join or stack
    r"\u0620-\u06ff\u0710-\u077f\u07c0-\u07ff\u0840-\u088f\u08a0-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3"
    r"\u17b6-\u17ff\u1807-\u180a\u1810-\u18af\u1a20-\u1aaf\u1b00-\u1c4f\ua840-\ua87f\ua980-\ua9df\uaa60-\uaa7f"
    r"\uaae0-\uaaff\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    r"\U00010a00-\U00010aff\U00010d00-\U00010fff\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
_PICTURES = (  # what emoji are made of
    r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f"
    r"\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_IDEOGRAPHS = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WITH_VARIANTS = (  # signs, East Asian punctuation and Myanmar letters with a standard variant
    rf"\u2200-\u22ff\u2a00-\u2aff\u3000-\u30ff\uff00-\uff9f\u1000-\u109f\uaa60-\uaa7f\ua840-\ua877{_IDEOGRAPHS}"
)
_STAYS = "|".join(
    (
        rf"(?<=[{_JOINING}])[\u200c\u200d]",
        rf"(?<=[{_PICTURES}])\u200d(?=[{_PICTURES}])",
        rf"(?<=[{_PICTURES}]\ufe0f)\u200d(?=[{_PICTURES}])",
        rf"(?<=[{_PICTURES}])[\ufe0e\ufe0f]",
        r"(?<=[#*0-9])\ufe0f(?=\u20e3)",  # the keys of a telephone
        rf"(?<=[{_WITH_VARIANTS}])[\ufe00-\ufe02]",
        rf"(?<=[{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]",
        r"(?<=[\u1820-\u18aa])[\u180b-\u180f]",
        r"(?<=[\U00013000-\U0001342f])[\U00013430-\U0001343f]",
    )
)

# The payload of a control string ends at any control character, so that a scan never passes the next introducer.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,200}+[ -/]{0,20}+[@-~]"  # control sequences: colours, cursor
    rf"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^{_CONTROLS}\t\n]{{0,500}}+(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|\x1b[ -/]*+[0-~]?"  # the rest
)
_SEQUENCE = 600  # longer than any sequence: a cut within a sequence changes at most this many characters
_SUSPECT = re.compile(rf"[{_CONTROLS}\u2028\u2029{_UNSEEN}{_SURROGATES}]")
_BREAKS = re.compile(r"\r\n|[\u2028\u2029]")
_GONE = re.compile(rf"[{_CONTROLS}]|(?!{_STAYS})[{_UNSEEN}]")
_HALVES = re.compile(f"[{_SURROGATES}]")
# Applied in this order, because the rest of a sequence may be a control character.
_REPLACED = ((_ESCAPES, ""), (_BREAKS, "\n"), (_GONE, ""), (_HALVES, "\ufffd"))


def printable(text: str) -> str:
    r"""``text`` without escape sequences, control and unseen characters; lone surrogates become U+FFFD.

    >>> printable("\x1b[31mred\x1b[0m\x07 and\ttab")
    'red and\ttab'
    """
    if not _SUSPECT.search(text):
        return text
    for pattern, new in _REPLACED:
        text = pattern.sub(new, text)
    return text


def beginning(text: str, most: int) -> str:
    """The first ``most`` characters of ``printable(text)``, without processing the rest of a long text."""
    taken = most + 2 * _SEQUENCE
    while True:
        clean = printable(text[:taken])
        if taken >= len(text) or len(clean) >= most + _SEQUENCE:
            return clean[:most]
        taken *= 2


def ending(text: str, most: int) -> str:
    """About the last ``most`` characters of ``printable(text)``, without processing the text long before them."""
    taken = 2 * (most + _SEQUENCE)
    clean = printable(text[-taken:])
    return clean[-most:] if taken >= len(text) else clean[_SEQUENCE:][-most:]


@dataclass(frozen=True, slots=True)
class PrintableText:
    """The printable form of a text, and the way back to its characters."""

    text: str
    _length: int
    _steps: tuple[SplicedText, ...] = ()

    def raw_offset(self, at: int) -> int:
        """The offset in the text of character ``at`` of its printable form; its length beyond the end."""
        if at >= len(self.text):
            return self._length
        for step in reversed(self._steps):
            at = step.span(at, at + 1)[0]
        return at


def printable_text(text: str) -> PrintableText:
    """``printable(text)`` with the way back, for many lookups in one text."""
    if not _SUSPECT.search(text):
        return PrintableText(text, len(text))
    steps: list[SplicedText] = []
    seen = text
    for pattern, new in _REPLACED:
        steps.append(splice(seen, ((*found.span(), new) for found in pattern.finditer(seen))))
        seen = steps[-1].text
    return PrintableText(seen, len(text), tuple(steps))


def raw_offset(text: str, at: int) -> int:
    r"""The offset in ``text`` of character ``at`` of ``printable(text)``, the length of ``text`` beyond its end.

    >>> raw_offset("\x1b[31mred", 1)
    6
    """
    return printable_text(text).raw_offset(at)


def one_line(text: str, most: int = ONE_LINE_CHARS) -> str:
    r"""``text`` as one printable line of at most ``most`` characters, white space as single blanks.

    For names, titles, reasons and messages from documents, files or scripts. Text without any visible character
    becomes U+FFFD.

    >>> one_line("a name\r\n2. [forged] 1.000\x1b[2K")
    'a name 2. [forged] 1.000'
    """
    seen = text[: 4 * most]  # enough, and bounds the work for a long text
    line = " ".join(printable(seen).split())
    if len(line) > most or len(seen) < len(text):
        return f"{line[: most - 1]}…"
    return line or ("\ufffd" if text.strip() else "")


def shorten(text: str, most: int) -> str:
    """``text`` in at most ``most`` characters, the "…" of a cut included.

    >>> shorten("retries", 5)
    'retr…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def visible_json(text: str) -> str:
    r"""Make JSON text displayable without loss: what ``printable`` would remove becomes ``\\uXXXX``.

    >>> visible_json('{"name": "a\u202eb ü"}') == r'{"name": "a\u202eb ü"}'
    True
    """
    return _SUSPECT.sub(lambda match: json.dumps(match[0])[1:-1], text)


def caret(line: str, column: int) -> str | None:
    """A line with a caret under a column (from 1) of ``line``; None if the column is beyond its end.

    Tabs stay tabs, characters that are two cells wide count twice, combining accents do not count.

    >>> caret("日本 = nope", 6)
    '       ^'
    """
    if not 0 < column <= len(line) + 1:
        return None
    return "".join("\t" if char == "\t" else " " * _cells(char) for char in line[: column - 1]) + "^"


def _cells(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def printable_data(value: Any) -> Any:
    """Apply ``printable`` to every string in JSON data, keys included."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): printable_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [printable_data(item) for item in value]
    return value


# Characters in place of unknown ones: replacement characters, private use, controls, numbers of glyphs.
_UNREADABLE = re.compile(r"[\ufffd\ue000-\uf8ff\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\(cid:\d+\)")
_WHITE = re.compile(r"\s+")
MOST_UNREADABLE = 0.2  # the share of unreadable characters above which search hardly finds a document


def count_visible(text: str) -> int:
    """The number of characters that are not blank."""
    return len(_WHITE.sub("", text))


def unreadable_share(text: str) -> float:
    """The share of the visible characters that are unreadable, 0 to 1."""
    unreadable = sum(len(match[0]) for match in _UNREADABLE.finditer(text))
    return unreadable / max(count_visible(text), 1)
