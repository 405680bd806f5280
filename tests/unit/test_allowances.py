"""The limits of one script: a row of the table, and settings that override it."""

from __future__ import annotations

import pytest

from server.scripts.script_runs import ALLOWANCES, allowance_of
from server.settings import Settings
from server.tools.execute_code import TOOL


@pytest.mark.parametrize("limits", ["standard", "strict"])
def test_what_is_not_set_is_as_the_table_says(limits: str) -> None:
    assert allowance_of(Settings.model_validate({"limits": limits})) == ALLOWANCES[limits]


def test_each_ceiling_of_a_script_is_a_setting() -> None:
    settings = Settings(
        script_calls=7, script_rows=70, script_previews=8, script_documents=9, result_kb=64, result_tokens=700
    )
    allowed = allowance_of(settings)
    assert list(allowed.rows.values()) == [70, 8, 9]
    assert (allowed.limits.sdk_calls, allowed.limits.result_bytes, allowed.limits.result_tokens) == (7, 65536, 700)
    assert allowed.limits.kept_bytes >= allowed.limits.result_bytes


def test_agents_are_told_the_ceilings_in_force() -> None:
    told = TOOL.fit_description(TOOL.description, Settings(script_calls=7, script_rows=71, result_tokens=701))
    assert ["7 SDK calls" in told, "71 metadata rows" in told, "701 tokens" in told] == [True] * 3
