"""A number is shown as its cell shows it, where the format says how; the other formats are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.readers.sheets.number_formats import BUILT_IN, parse_format

_SHOWN = [
    ("0", 2.5, "3"),
    ("0.00", 2.345, "2.35"),
    ("0.00", -2.0, "-2.00"),
    ("#,##0", 1234567.5, "1,234,568"),
    ("#,##0.00", -1234.567, "-1,234.57"),
    ("0,000", 12, "0,012"),
    ("000", 7, "007"),
    ("#.##", 0.5, ".5"),
    ("0.0###", 1.25, "1.25"),
    ("0.0###", 1, "1.0"),
    ("0%", 0.255, "26%"),
    ("0.00%", 0.1 + 0.2, "30.00%"),
    ("0.00E+00", 12345, "1.23E+04"),
    ("0.00E+00", 9.999e-5, "1.00E-04"),
    ("0E-0", 5e7, "5E7"),
    ("0.00E+00", 0, "0.00E+00"),
    ("#,##0,", 1234567, "1,235"),
    ('0.0,,"M"', 12345678, "12.3M"),
    ("$#,##0", -3, "-$3"),
    ('"$"#,##0.00_);\\("$"#,##0.00\\)', -5.5, "($5.50)"),
    ("#,##0.00\\ [$€-407]", 3.5, "3.50 €"),
    ("[$CHF] 0.00;[Red]-[$CHF] 0.00", -2, "-CHF 2.00"),
    ('0.00;-0.00;"none"', 0, "none"),
    ('0" kg; net"', 5, "5 kg; net"),
    ("0°", 21.4, "21°"),
    (BUILT_IN[41], 0, "-"),
    (BUILT_IN[43], -1234.5, "(1,234.50)"),
]


@pytest.mark.parametrize(("code", "value", "shown"), _SHOWN)
def test_a_number_has_the_form_of_its_format(code: str, value: float, shown: str) -> None:
    form = parse_format(code)
    assert form is not None
    assert form.show(value) == shown


@pytest.mark.parametrize(
    "code",
    [
        *("General", "@", "dd/mm/yyyy", "h:mm", "[h]:mm:ss", "# ?/?", ";;;", "", "[>=100]0;0.0", "000-00", '"x"'),
        *("##0.0E+0", "[DBNum1]0", "0.00 zł", "[Red", '"0', "0;-0;;@", "0" * 300, "0." + "0" * 200),
    ],
)
def test_a_format_of_another_kind_is_left_alone(code: str) -> None:
    assert parse_format(code) is None


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 9))
def test_decimals_are_those_of_the_rounded_value(value: float, decimals: int) -> None:
    """No digit is invented: what is shown is within half of its last place."""
    form = parse_format(f"0.{'0' * decimals}" if decimals else "0")
    assert form is not None
    shown = form.show(value)
    assert len(shown.partition(".")[2]) == decimals
    assert abs(float(shown) - value) <= 0.5000001 * 10**-decimals + abs(value) * 1e-14


@given(st.text('0#?,.%E+-;_*\\"[]$€ RedGeneralmdh/@', max_size=40), st.floats(-1e9, 1e9))
def test_any_code_is_read_or_left_alone(code: str, value: float) -> None:
    form = parse_format(code)
    assert form is None or isinstance(form.show(value), str)
