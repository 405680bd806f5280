"""``limits = strict``: few calls and few rows for each script, stated in the tool's description."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from winnow.sandbox import Outcome
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.settings.loading import load_settings
from winnow.server.tools.execute_code import TOOL

pytestmark = [pytest.mark.anyio, pytest.mark.walls]


@pytest.fixture
async def strict(store: Path) -> AsyncIterator[Application]:
    """A winnow with strict limits."""
    async with open_application(
        load_settings(store=store, project="handbook", limits="strict"), wait_for_model=True
    ) as app:
        await app.ready()
        yield app


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("for _ in range(10): semantic_search('port', top_k=1)\nreturn 10", 10),
        ("for _ in range(11): semantic_search('port', top_k=1)", "CallLimit"),
        ("return len(semantic_search('reads this page', top_k=100))", 100),
        ("for _ in range(2): semantic_search('reads this page', top_k=100)", "SDK_ROWS"),
        ("fetch(semantic_search('reads this page', top_k=6).ids)", "SDK_ROWS"),
        ("return 'word ' * 2_100", "ResultTooLarge"),
    ],
)
async def test_a_script_gets_no_more(strict: Application, code: str, ending: Any) -> None:
    assert _ending(await strict.scripts.run(code)) == ending


def _ending(outcome: Outcome) -> Any:
    return outcome.result if outcome.error is None else outcome.error.type


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (
            {},
            "30 s (timeout up to 60), 512 MB, 1,000 SDK calls, 16 MB of passage text.",
        ),
        (
            {"limits": "strict"},
            "10 SDK calls, 2 MB of passage text, 100 ids or metadata rows, 50 previews, 5 full passages.",
        ),
        ({"memory_mb": 128, "wall_seconds": 12}, "12 s (timeout up to 60), 128 MB"),
    ],
)
def test_the_tool_tells_the_limits_in_force(flags: Mapping[str, Any], told: str) -> None:
    assert told in TOOL.fit_description(TOOL.description, load_settings(**flags))
