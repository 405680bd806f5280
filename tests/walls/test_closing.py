"""A script that runs when the sandbox closes is told so: it was not at fault, and may be sent again."""

from __future__ import annotations

import asyncio

import pytest

from winnow.sandbox import Outcome, Reply, Sandbox

pytestmark = [pytest.mark.walls, pytest.mark.both_users]


async def _closed_while(code: str) -> Outcome:
    called = asyncio.Event()

    async def answer(method: str, params: object) -> Reply:
        called.set()
        return Reply({"count": 0, "results": []})

    sandbox = Sandbox(workers=1, spares=1)
    await sandbox.start()
    run = asyncio.ensure_future(sandbox.run(code, call=answer))
    await called.wait()
    await sandbox.close()
    return await run


def test_a_script_that_runs_when_the_sandbox_closes_may_be_sent_again() -> None:
    outcome = asyncio.run(_closed_while("kb.search('x')\nwhile True: pass"))
    assert outcome.error is not None
    assert (outcome.status, outcome.error.type, outcome.error.retry_after_s) == ("unavailable", "SHUTTING_DOWN", 5)
