"""The text form of a result: the shortest text with the same value."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.sandbox.protocol import smaller_results
from winnow.server.operations.answers.budget import dumps
from winnow.server.text.columns import convert_tables
from winnow.server.tools.execute_code import remove_result

RECORDS = [{"id": "a", "score": 1}, {"score": 2, "id": "b"}, {"id": "c", "score": None}]
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text('ab"é', max_size=4)
RECORD = st.fixed_dictionaries({"id": SCALARS, "score": SCALARS})
VALUES = st.recursive(
    SCALARS | st.lists(RECORD, max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["id", "of", "to"]), inner),
    max_leaves=12,
)


def test_equal_records_are_columns_wherever_they_stand() -> None:
    table = {"columns": ["id", "score"], "rows": [["a", 1], ["b", 2], ["c", None]]}
    assert convert_tables(RECORDS) == table
    assert convert_tables({"found": RECORDS, "by": [[RECORDS]]}) == {"found": table, "by": [[table]]}
    assert convert_tables([{"id": RECORDS}, {"id": []}]) == [{"id": table}, {"id": []}]


@pytest.mark.parametrize(
    "value", [RECORDS[:1], [{}, {}], [{"a": 1}, {"b": 1}], [1, {}], [{"a": 1}] * 2, "text", None]
)
def test_what_is_no_table_or_no_shorter_as_one_stays(value: Any) -> None:
    assert convert_tables(value) == value


@settings(deadline=None)
@given(VALUES)
def test_columns_are_never_longer_and_say_the_same(value: Any) -> None:
    told = convert_tables(value)
    assert len(dumps(told)) <= len(dumps(value))
    assert _records(told) == value


def _records(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"columns", "rows"}:
        return [dict(zip(value["columns"], map(_records, row), strict=True)) for row in value["rows"]]
    if isinstance(value, dict):
        return {name: _records(part) for name, part in value.items()}
    return [_records(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "stdout",
    [dumps(RECORDS), json.dumps(RECORDS), json.dumps(RECORDS, indent=2) + "\n", str(RECORDS), f"\n{RECORDS}\n\n"],
)
def test_a_result_that_was_printed_as_well_is_told_once(stdout: str) -> None:
    assert remove_result(stdout, RECORDS) == ""
    assert remove_result(f"looking\n{stdout.strip()}\ndone\n", RECORDS) == "looking\ndone\n"


@pytest.mark.parametrize(
    ("stdout", "result"), [("3\n1\n", 3), ("", [1]), ("looking\n", None), ("all of it is 7\n", 7), ("a\n", "b")]
)
def test_what_only_looks_like_the_result_stays(stdout: str, result: Any) -> None:
    assert remove_result(stdout, result) == stdout


BULKY = [{"id": n, "title": f"row {n}", "content": "x" * 500} for n in range(90)]
ADVICE = [
    (BULKY, "result[*]['content'] 45,180 bytes", "for name in ['id', 'title']} for row in result]"),
    (BULKY * 40, "result[*]['content']", "for name in ['id', 'title']} for row in result[:"),
    (
        {"rows": BULKY, "n": 90},
        "result['rows'][*]['content'] 45,180 bytes",
        "make result['rows'] smaller: return [",
    ),
    ("x" * 50_000, "result 50,002 bytes", "result[:26_214]"),
    (["x" * 100] * 900, "result[*] 91,800 bytes", "return fewer: result[:254]"),
    (
        {f"k{n}": "x" * 900 for n in range(90)},
        "result[*] 81,180 bytes",
        "return fewer: dict(list(result.items())[:28])",
    ),
    (
        {"a": {"b": ["x" * 100] * 900}},
        "result['a']['b'][*]",
        "make result['a']['b'] smaller: return fewer: result['a']['b'][:254]",
    ),
    ([[1] * 90] * 500, "result[*][*]", "return fewer: result[:"),
]


@pytest.mark.parametrize(("value", "where", "instead"), ADVICE)
def test_what_is_too_large_is_named_with_a_form_that_fits(value: Any, where: str, instead: str) -> None:
    assert where in smaller_results.describe_largest(value)
    assert instead in smaller_results.suggest_smaller(value, 32 * 1024, "bytes")


MANY_VALUES = [
    [{f"k{n}": 0 for n in range(2_000)}] + [{}] * 10_000,
    {"a": {"b": {"c": {"d": {"e": [0] * 60_000}}}}},
    [[0, [], {}]] * 12_000,
]


@pytest.mark.parametrize("value", MANY_VALUES)
def test_a_value_of_many_parts_is_looked_at_once(value: Any) -> None:
    """The parent does this while its other clients wait: row by row and field by field it took minutes."""
    began = time.process_time()
    smaller_results.describe_largest(value)
    smaller_results.suggest_smaller(value, 32 * 1024, "bytes")
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize(
    "result",
    [BULKY * 40, {"rows": BULKY * 40}, {"of": {"all": ["x" * 70] * 900}}, {str(n): "y" * 800 for n in range(90)}],
)
def test_the_smaller_form_is_one_that_runs_and_fits(result: Any) -> None:
    form = (
        smaller_results.suggest_smaller(result, 32 * 1024, "bytes")
        .rpartition("return ")[2]
        .removeprefix("fewer: ")
        .partition(";")[0]
    )
    smaller = eval(form, {"result": result})
    assert 10_000 < len(dumps(smaller).encode()) <= 32 * 1024
