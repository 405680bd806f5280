"""``search_many``, through the real sandbox over the real knowledge base."""

from __future__ import annotations

from typing import Any

import pytest

from winnow.sandbox import Outcome
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.settings.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.walls]


async def run(application: Application, code: str) -> Outcome:
    await application.ready()
    return await application.scripts.run(code)


async def test_search_many_answers_what_one_by_one_answers(application: Application) -> None:
    code = """
questions = ["how are backups encrypted", "which port", "when are invoices sent"]
options = {"top_k": 3, "response_mode": "preview"}
one_by_one = [semantic_search(question, **options) for question in questions]
at_once = search_many(questions, **options)
return [[rows.ids, rows[0].title, rows.error] for rows in at_once] == [
    [rows.ids, rows[0].title, None] for rows in one_by_one], at_once[0][0].title
"""
    outcome = await run(application, code)
    assert outcome.result == [True, "Backups handbook"], outcome.error
    assert (outcome.usage.sdk_calls, outcome.usage.rows) == (6, 18)


async def test_a_question_that_is_refused_raises_and_the_error_names_it(application: Application) -> None:
    error = (await run(application, "kb.search_many(['backups', 'x', 'y', 'billing'], top_k=2)")).error
    assert error is not None
    assert error.message.startswith("INVALID_REQUEST: question 2 of 4, 'x': ")
    assert error.hint is not None
    assert 'errors="keep"' in error.hint


async def test_a_refused_question_may_be_kept_and_leaves_the_others_their_rows(application: Application) -> None:
    code = """
pages = await kb.search_many(["backups", "x", "billing"], top_k=2, errors="keep")
refused = search_many(["x", "y"], errors="keep")
return [[len(page), page.error and page.error.type, bool(page.warnings)] for page in [*pages, *refused]]
"""
    outcome = await run(application, code)
    refused = [0, "INVALID_REQUEST", True]
    assert outcome.result == [[2, None, False], refused, [2, None, False], refused, refused], outcome.error


async def test_where_every_question_is_refused_the_script_gets_the_reason(application: Application) -> None:
    error = (await run(application, "search_many(['backups', 'billing'], response_mode='all')")).error
    assert error is not None
    assert (error.type, "response_mode" in error.message) == ("SDKError", True)


async def test_another_way_with_errors_is_refused(application: Application) -> None:
    code = "way = 'ignore'\nsearch_many(['backups'], errors=way)"
    error = (await run(application, code)).error
    assert error is not None
    assert (error.type, error.message) == (
        "SDKError",
        'INVALID_REQUEST: errors: "raise" or "keep", not \'ignore\'',
    )


async def test_rows_and_calls_of_a_batch_are_metered_like_any(settings: Settings) -> None:
    code = """
pages = search_many(["rule %d" % n for n in range(12)], top_k=20, response_mode="preview", errors="keep")
return [page.error.type if page.error else len(page) for page in pages]
"""
    limited = settings.model_copy(update={"script_previews": 200})
    async with open_application(limited, wait_for_model=True) as application:
        outcome = await run(application, code)
        refused = await run(application, code.replace(', errors="keep"', ""))
    assert outcome.result == [20] * 10 + ["SDK_ROWS"] * 2, outcome.error
    assert (outcome.usage.sdk_calls, outcome.usage.rows) == (12, 200)
    assert refused.error is not None
    assert (refused.status, refused.error.type) == ("limit", "SDK_ROWS")
    assert "question 11 of 12" in refused.error.message


async def test_a_batch_whose_answers_do_not_fit_a_frame_comes_in_several(application: Application) -> None:
    code = """
pages = search_many(["rule %d of backups" % n for n in range(90)], top_k=22)
return [len(pages), sum(map(len, pages)), [page.error for page in pages if page.error]]
"""
    outcome = await run(application, code)
    assert outcome.result == [90, 90 * 22, []], outcome.error


@pytest.mark.parametrize(
    ("call", "expected"), [("search_many([])", []), ("MCPClient().search_many(['port'])", None)]
)
async def test_no_question_is_no_call_and_a_client_has_it_too(
    application: Application, call: str, expected: Any
) -> None:
    outcome = await run(application, f"pages = {call}\nreturn [page.ids for page in pages]")
    assert outcome.status == "ok", outcome.error
    assert (outcome.result == expected) is (expected is not None)
    assert outcome.usage.sdk_calls == (0 if expected == [] else 1)
