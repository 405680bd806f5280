"""The limits of one script: a row of the table, and settings that override it."""

from __future__ import annotations

import pytest

from winnow.server.settings.settings import Settings
from winnow.server.tools.execute_code import TOOL
from winnow.server.tools.scripts.script_runs import ALLOWANCES, allowance_of


@pytest.mark.parametrize("limits", ["standard", "strict"])
def test_what_is_not_set_is_as_the_table_says(limits: str) -> None:
    assert allowance_of(Settings.model_validate({"limits": limits})) == ALLOWANCES[limits]


def test_each_ceiling_of_a_script_is_a_setting() -> None:
    settings = Settings(
        script_calls=7,
        script_text_mb=3,
        script_rows=70,
        script_previews=8,
        script_documents=9,
        result_kb=64,
        result_tokens=700,
    )
    allowed = allowance_of(settings)
    assert allowed.rows == {"ids or metadata rows": 70, "previews": 8, "full passages": 9}
    assert allowed.text_bytes == 3 * 1024 * 1024
    assert (allowed.limits.sdk_calls, allowed.limits.result_bytes, allowed.limits.result_tokens) == (7, 65536, 700)
    assert allowed.limits.kept_bytes >= allowed.limits.result_bytes


def test_rows_are_limited_only_where_a_setting_limits_them() -> None:
    usual, limited = allowance_of(Settings()), allowance_of(Settings(script_previews=200))
    strict = allowance_of(Settings(limits="strict", script_documents=50))
    assert (usual.rows, limited.rows) == ({}, {"previews": 200})
    assert strict.rows == {"ids or metadata rows": 100, "previews": 50, "full passages": 50}


def test_agents_are_told_the_ceilings_in_force() -> None:
    told = TOOL.fit_description(TOOL.description, Settings(script_calls=7, script_rows=71, result_tokens=701))
    assert ["7 SDK calls" in told, "71 ids or metadata rows" in told, "701 tokens" in told] == [True] * 3
