"""``save``, ``load`` and ``saved`` through the real sandbox: from one script of a session to the next."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from winnow.server.commands.entry.app import Application

pytestmark = [pytest.mark.anyio, pytest.mark.walls]


async def result_of(application: Application, code: str, client: str = "one") -> Any:
    await application.ready()
    outcome = await application.scripts.run(code, client=client)
    assert outcome.error is None, outcome.error
    return outcome.result


async def test_a_script_goes_on_where_the_last_one_stopped(application: Application) -> None:
    first = """
rows = semantic_search("proxy rule", top_k=30)
save("rows", rows)
save("seen", len(rows))
save("by file", group_by(rows, "file"))
"""
    then = """
rows = await load("rows")
files = list(await load("by file"))
return rows[0].title, len(rows), load("seen") + 1, files[0][-3:], list(saved()), load("none", "x")
"""
    assert await result_of(application, first) is None
    assert await result_of(application, then) == [
        "Networking handbook", 30, 31, ".md", ["rows", "seen", "by file"], "x",
    ]  # fmt: skip
    assert await result_of(application, "return load('rows'), len(saved())", "two") == [None, 0]


async def test_a_large_value_costs_a_call_for_each_piece(application: Application) -> None:
    code = """
before = budget().calls
save("large", ["a line of text"] * 60_000)
after = budget().calls
return before - after, len(load("large")), after - budget().calls
"""
    saving, length, loading = await result_of(application, code)
    assert (saving < 100, length, loading) == (True, 60_000, 6)


async def test_scripts_that_run_at_once_do_not_mix_their_values(application: Application) -> None:
    code = "for n in range(3): save('shared', '{0}' * 200_000)\nsave('{0}', n)\nreturn len(set(load('shared')))"
    results = await asyncio.gather(*(result_of(application, code.format(letter)) for letter in "abc"))
    assert results == [1, 1, 1]
    assert sorted(await result_of(application, "return list(saved())")) == ["a", "b", "c", "shared"]


async def test_what_cannot_be_saved_is_an_error_with_its_line(application: Application) -> None:
    await application.ready()
    outcome = await application.scripts.run("rows = []\nsave('tags', {'a': {1, 2}})", client="one")
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.line) == ("TypeError", 2)
    assert "value['a'] is of type 'set'" in outcome.error.message
    full = await application.scripts.run("save('large', 'x' * 2_000_000)", client="one")
    assert full.error is not None
    assert "a session keeps 1 MiB" in full.error.message


@pytest.mark.parametrize("code", ["len(load('rows'))", "for row in load('rows'): pass", "load('rows').title"])
async def test_the_use_of_a_name_that_was_not_saved_says_so(application: Application, code: str) -> None:
    await application.ready()
    error = (await application.scripts.run(code, client="none saved")).error
    assert error is not None
    assert "load(name) is None for a name that was not saved, saved() lists them" in str(error.hint)


async def test_a_client_object_has_them_too(application: Application) -> None:
    code = "client = MCPClient()\nclient.save('a', 1)\nreturn client.load('a'), dict(await client.saved())"
    assert await result_of(application, code, "three") == [1, {"a": 1}]
