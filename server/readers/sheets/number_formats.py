"""Number formats of workbooks: values as cells show them, with decimals, percent signs and currencies.

Read are formats with one block of digits: fixed decimals, groups, percent, scientific, currencies and literals,
each with sections for negative numbers and zero. Others (dates, fractions, conditions, texts) are left to the
caller, and so is "General", which each program shows with as many digits as the column has room for. Separators
are those of the format, ``.`` and ``,``: the file does not say in which country it is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from types import MappingProxyType

# Formats that have a number instead of a code, without those of a country's currency.
BUILT_IN: Mapping[int, str] = MappingProxyType(
    {
        1: "0",
        2: "0.00",
        3: "#,##0",
        4: "#,##0.00",
        9: "0%",
        10: "0.00%",
        11: "0.00E+00",
        37: "#,##0_);(#,##0)",
        38: "#,##0_);[Red](#,##0)",
        39: "#,##0.00_);(#,##0.00)",
        40: "#,##0.00_);[Red](#,##0.00)",
        41: '_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)',
        43: '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)',
    }
)
_LONGEST_CODE, _MOST_DECIMALS = 255, 30
_MOST_NUMERIC_SECTIONS = 3
# What a section is made of: quoted text, an escaped sign, a blank or a fill, brackets, digits with their exponent,
# or a sign that stands for itself. Anything else is part of a date, a fraction or a text.
_PIECE = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<whole>[#0?][#0?,]*|(?=\.[#0?]))(?P<point>\.(?P<decimals>[#0?]*))?(?P<thousands>,*)(?P<exponent>E[+-]0+)?"
    r"|(?P<sign>[^\w\[\]\"\\@/?#.,*]|[\u0100-\uffff])"
)
_SECTION_END = re.compile(r';(?=(?:[^"]*"[^"]*")*[^"]*\Z)')
_COLOUR = re.compile(r"Black|Blue|Cyan|Green|Magenta|Red|White|Yellow|Color ?\d{1,2}", re.I)
_CURRENCY = re.compile(r"\$([^-]*)(?:-[0-9A-F]{1,8})?", re.I)
_GROUP_START = re.compile(r"(?<=\d)(?=(?:\d{3})+\Z)")
_DIGITS = 15  # that a cell keeps
_ROUNDING = Context(prec=400, rounding=ROUND_HALF_UP)


@dataclass(frozen=True, slots=True)
class _Digits:
    """The block of digits of a section."""

    least_whole: int
    is_grouped: bool
    point: str
    least_decimals: int
    most_decimals: int
    exponent: str
    scale: int  # a power of ten

    def show(self, value: Decimal) -> str:
        """A number that is not negative."""
        if self.exponent:
            return self._show_scientific(value)
        return self._show_fixed(value.scaleb(self.scale, _ROUNDING))

    def _show_fixed(self, value: Decimal) -> str:
        rounded = value.quantize(Decimal(1).scaleb(-self.most_decimals), context=_ROUNDING)
        whole, _, decimals = f"{rounded:f}".partition(".")
        whole = whole.lstrip("0").zfill(self.least_whole)
        whole = _GROUP_START.sub(",", whole) if self.is_grouped else whole
        kept = decimals.rstrip("0").ljust(self.least_decimals, "0")
        return f"{whole}{self.point}{kept}"

    def _show_scientific(self, value: Decimal) -> str:
        power = value.adjusted() if value else 0
        mantissa = self._show_fixed(value.scaleb(-power, _ROUNDING))
        if mantissa.startswith("10"):  # rounded up
            power += 1
            mantissa = self._show_fixed(value.scaleb(-power, _ROUNDING))
        sign = "-" if power < 0 else self.exponent[1].replace("-", "")
        return f"{mantissa}E{sign}{str(abs(power)).zfill(len(self.exponent) - 2)}"


@dataclass(frozen=True, slots=True)
class _Section:
    """The text before and after the digits; a section without digits is text alone."""

    before: str
    digits: _Digits | None
    after: str

    def show(self, value: Decimal) -> str:
        """A number that is not negative."""
        return f"{self.before}{self.digits.show(value) if self.digits else ''}{self.after}"


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A format: its sections for positive numbers, and where it has them, for negative ones and for zero."""

    sections: Sequence[_Section]

    def show(self, value: float) -> str:
        """A finite value as its cell shows it."""
        number = Decimal(f"{value:.{_DIGITS}g}")
        at = 1 if number < 0 else 0 if number else 2
        if at < len(self.sections):
            return self.sections[at].show(abs(number)).strip()
        return f"{'-' if number < 0 else ''}{self.sections[0].show(abs(number)).strip()}"


def parse_format(code: str) -> NumberFormat | None:
    """The format of a code; None for one that is not read here."""
    if len(code) > _LONGEST_CODE:
        return None
    sections = [_parse_section(section) for section in _SECTION_END.split(code)[:_MOST_NUMERIC_SECTIONS]]
    known = [section for section in sections if section is not None]
    return NumberFormat(known) if len(known) == len(sections) and known[0].digits else None


def _parse_section(code: str) -> _Section | None:
    """A section; None for one that is not read here, and for one that shows nothing."""
    texts, blocks, percent, at = ["", ""], [], 0, 0
    while at < len(code):
        piece = _PIECE.match(code, at)
        if piece is None or piece.end() == at:
            return None
        at = piece.end()
        if piece["whole"] is not None:
            blocks.append(piece)
            continue
        text = _text_of(piece)
        if text is None:
            return None
        percent += piece["sign"] == "%"
        texts[bool(blocks)] += text
    if len(blocks) > 1 or not (blocks or "".join(texts).strip()):
        return None
    digits = _digits_of(blocks[0], percent) if blocks else None
    return None if blocks and digits is None else _Section(texts[0], digits, texts[1])


def _text_of(piece: re.Match[str]) -> str | None:
    """The text of a piece that is not digits; None for brackets that are not read here."""
    bracket = piece["bracket"]
    if bracket is None:
        return piece["quoted"] or piece["escaped"] or piece["sign"] or ""
    currency = _CURRENCY.fullmatch(bracket)
    return currency[1] if currency else "" if _COLOUR.fullmatch(bracket) else None


def _digits_of(block: re.Match[str], percent: int) -> _Digits | None:
    whole, decimals, exponent = block["whole"], block["decimals"] or "", block["exponent"] or ""
    if len(decimals) > _MOST_DECIMALS or (exponent and len(whole) != 1):
        return None
    least = [marks.count("0") for marks in (whole, decimals)]
    scaled = 2 * percent - 3 * (len(block["thousands"]) + len(whole) - len(whole.rstrip(",")))
    point = "." if block["point"] else ""
    return _Digits(least[0], "," in whole.rstrip(","), point, least[1], len(decimals), exponent, scaled)
