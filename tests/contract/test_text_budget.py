"""The budget of passage text, through the real sandbox over the real knowledge base."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from winnow.sandbox import Outcome
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.settings.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

SPENT = """
def spent(ask):
    before = budget().text_bytes.left
    answer = ask()
    return before - budget().text_bytes.left, answer
def size(texts):
    return sum(len(text.encode()) for text in texts)
"""
# A call, and the texts of its answer that the run takes in; "" for none.
CALLS = {
    "semantic_search('proxy', response_mode='ids')": "",
    "semantic_search('proxy')": "",
    "semantic_search('proxy', top_k=5, response_mode='preview')": "{row.preview for row in answer}",
    "semantic_search('proxy', top_k=5, response_mode='full')": "{row.content for row in answer}",
    "hybrid_search('proxy', top_k=5, response_mode='full')": "{row.content for row in answer}",
    "fetch(semantic_search('proxy', top_k=3))": "{row.content for row in answer}",
    "kb.search('proxy rule')": "{row.preview for row in answer}",
    "kb.retrieve_evidence('which port has the gateway')": "{row.quote for row in answer}",
    "kb.extract_evidence('which port', semantic_search('port'))": "{row.quote for row in answer}",
    "kb.read_excerpt(semantic_search('port')[0], 20)": "[answer.excerpt]",
    "kb.expand_excerpt(semantic_search('port')[0])": "[answer.excerpt]",
    "graph.expand('acme', include_snippet=True)": "{row.snippet for row in answer if 'snippet' in row}",
    "find_vendor_info('acme', include_content=True)": "{row.content for row in answer if 'content' in row}",
    "rerank('port', semantic_search('port'))": "",
    "scan('port (number )?')": "{row.context for row in answer}",
    "scan(r'(?s)port(.{900})', context=0)": "{t for row in answer for t in (row.context, row.match, *row.groups)}",
    "scan(r'(\\w+) port', group_by=1)": "{row.key for row in answer}",
    "scan('p.rt', group_by='match')": "{row.key for row in answer}",
    "scan('port', group_by='section')": "",
    "scan('port', group_by='file')": "",
    "documents(group_by='title')": "",
    "cite(semantic_search('port'))": "",
    "tokens('a text of the script')": "",
}


@pytest.fixture(scope="module")
async def running(store: Any) -> AsyncIterator[Application]:
    async with open_application(Settings(store=store, project="handbook"), wait_for_model=True) as application:
        await application.ready()
        yield application


@pytest.mark.parametrize("call", CALLS)
async def test_a_run_pays_for_the_text_of_each_answer_and_not_again(running: Application, call: str) -> None:
    code = f"""{SPENT}
cost, answer = spent(lambda: {call})
again, _ = spent(lambda: {call})
return cost, size({CALLS[call] or "[]"}), again
"""
    outcome = await running.scripts.run(code)
    assert outcome.error is None, outcome.error
    cost, size, again = outcome.result
    assert (cost, again) == (size, 0)
    assert (size > 0) is bool(CALLS[call])


async def test_smaller_views_of_a_passage_that_was_read_are_free(running: Application) -> None:
    code = f"""{SPENT}
rows = semantic_search('proxy rule', top_k=20, response_mode='full')
asked = [lambda: semantic_search('proxy rule', top_k=20, response_mode='preview'), lambda: fetch(rows),
         lambda: kb.read_excerpt(rows[0], 8), lambda: kb.expand_excerpt(rows[0], 0, 0),
         lambda: kb.extract_evidence('which rule', rows), lambda: grep('proxy rule', 'case', top_k=20)]
return [spent(ask)[0] for ask in asked]
"""
    assert (await running.scripts.run(code)).result == [0] * 6


async def _run_with(running: Application, text_bytes: int, code: str) -> Outcome:
    usual = running.scripts._allowance
    running.scripts._allowance = replace(usual, text_bytes=text_bytes)
    try:
        return await running.scripts.run(code)
    finally:
        running.scripts._allowance = usual


async def test_a_refusal_names_the_unit_what_is_left_and_the_cheaper_way(running: Application) -> None:
    outcome = await _run_with(running, 2_000, "semantic_search('proxy rule', top_k=50, response_mode='full')")
    assert outcome.error is not None
    assert (outcome.status, outcome.error.type) == ("limit", "SDK_TEXT")
    assert outcome.error.message.endswith("that the run has not read yet")
    assert "2,000 bytes of passage text; 2,000 bytes are left" in outcome.error.message
    assert "kb.scan" in (outcome.error.hint or "")


async def test_a_refused_answer_costs_nothing_and_smaller_ones_still_come(running: Application) -> None:
    code = """
try:
    semantic_search('proxy rule', top_k=50, response_mode='full')
except SDKError as error:
    refused = error.type
left = budget().text_bytes.left
row = fetch(semantic_search('proxy rule', top_k=1))[0]
return refused, left, left - budget().text_bytes.left == len(row.content.encode())
"""
    assert (await _run_with(running, 3_000, code)).result == ["SDK_TEXT", 3_000, True]


async def test_a_batch_is_charged_in_the_order_of_its_questions(running: Application) -> None:
    code = """
pages = []
for question in ['proxy rule', 'proxy rule', 'invoices', 'mentor']:
    try:
        pages.append(len(semantic_search(question, top_k=3, response_mode='full')))
    except SDKError as error:
        pages.append(error.type)
return pages
"""
    many = """
return [page.error.type if page.error else len(page) for page in
        search_many(['proxy rule', 'proxy rule', 'invoices', 'mentor'], top_k=3, response_mode='full'%s)]
"""
    one_by_one = (await _run_with(running, 3_000, code)).result
    assert one_by_one[:2] == [3, 3]
    assert "SDK_TEXT" in one_by_one
    at_once = await _run_with(running, 3_000, many % "")
    if at_once.error is not None:  # a refused page is raised unless its error is asked for
        at_once = await _run_with(running, 3_000, many % ", errors='keep'")
    assert at_once.result == one_by_one


async def test_a_passage_cannot_be_read_for_less_in_pieces(running: Application) -> None:
    code = """
row = max(kb.search('who reads this page first', top_k=20, max_per_doc=9), key=lambda row: row.size_bytes)
before = budget().text_bytes.left
text, part = [], kb.read_excerpt(row, 8)
while True:
    text.append(part.excerpt)
    if not part.truncated or sum(map(len, text)) > 1_000:
        break
    part = kb.read_excerpt(row, 8, start_char=part.next_start_char)
left = budget().text_bytes
return [before - left.left, sum(len(piece.encode()) for piece in set(text)), len(text)]
"""
    charged, read, pieces = (await running.scripts.run(code)).result
    assert (charged, pieces > 3) == (read, True)


async def test_everything_may_be_searched_through_again_and_again(running: Application) -> None:
    code = """
for number in range(60):
    grep('rule', r'case \\d+', top_k=100)
left = budget()
return left.calls, left.text_bytes.of - left.text_bytes.left < 200_000
"""
    assert (await running.scripts.run(code)).result == [940, True]
