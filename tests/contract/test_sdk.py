"""Scripts that use the SDK, in the real sandbox over the real knowledge base."""

# ruff: noqa: E501 - scripts as one would write them

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from winnow.sandbox import Outcome
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings
from winnow.server.text.words.tokens import count_tokens

pytestmark = pytest.mark.walls

# A script, and what it returns.
SCRIPTS: Mapping[str, tuple[str, Any]] = {
    "words alone are what a weight of words alone finds": (
        """
by_words = hybrid_search("port 8443", bm25_weight=1.0, vector_weight=0.0, top_k=3)
twice = hybrid_search("port 8443", bm25_weight=0.5, vector_weight=0.0, top_k=3)
usual, same = semantic_search("port 8443", top_k=5), hybrid_search("port 8443", 0.4, 0.6, top_k=5)
return by_words.ids == twice.ids, by_words[0].title, usual.ids == same.ids, same.fusion == usual.fusion
""",
        [True, "Networking handbook", True, True],
    ),
    "a page of quotes says whether they answer": (
        """
page = kb.retrieve_evidence("which port does the gateway listen on")
other = kb.retrieve_evidence("How does Kafka rebalance partitions?")
return page.verdict, page.missing_terms, page.confidence > 0.5, other.verdict, other["missing_terms"], other.confidence < 0.2
""",
        ["answered", [], True, "not_found", ["Kafka", "rebalance", "partitions"], True],
    ),
    "ids and scores in metadata are those of the rows at every tier": (
        """
found = [semantic_search("rule", response_mode=mode, top_k=5) for mode in ("metadata", "preview", "full")] + [kb.search("rule")]
rows = [row for page in found for row in page]
previews = found[1]
texts = fetch([row["metadata"]["id"] for row in previews][:3])
same = [row["metadata"]["id"] == row.id and row["metadata"]["score"] == row.score for row in rows]
return len(rows) >= 8 and all(same), texts.ids == previews.ids[:3], texts[0]["metadata"]["score"], texts[0].metadata.id == previews[0].id
""",
        [True, True, None, True],
    ),
    "weights that are both nothing are refused": (
        """
try:
    hybrid_search("port", 0, 0)
except SDKError as error:
    return error.type, "at least one leg" in error.message
""",
        ["INVALID_REQUEST", True],
    ),
    "rows of any calls come back as they are in a new order": (
        """
found = semantic_search("billing", response_mode="preview", top_k=8)[:] + kb.search("which port does the gateway use")
best = rerank("which port does the gateway listen on", found, top_k=2)
again = rerank("which port does the gateway listen on", found.ids if False else [row.id for row in found], top_k=2)
return (best[0].file, best[0].rerank_score, best[0].rerank_score >= best[1].rerank_score, best.ids == again.ids,
        "preview" in best[0], "preview" in again[0], len(best))
""",
        ["guide/networking.md", 1.0, True, True, True, False, 2],
    ),
    "without a cross-encoder single sentences are compared and the answer says so": (
        """
question = "which port does the gateway listen on"
found = semantic_search(question, top_k=10)
page = rerank(question, found, top_k=10)
ranked = semantic_search(question, filter_ids=found.ids)
before, after = {row.id: row.score for row in ranked}, {row.id: row.rerank_score for row in page}
return page["reranked_by"], set(before) == set(after), sum(abs(before[id] - after[id]) > 0.01 for id in before) > 3
""",
        ["sentences", True, True],
    ),
    "a threshold leaves out what scores below it and unknown ids are named": (
        """
found = semantic_search("which port does the gateway listen on", top_k=30)
some = rerank("which port does the gateway listen on", found, top_k=30, threshold=0.9)
page = rerank("port", ["nowhere#1", found[0]], top_k=5, missing="skip")
return 0 < len(some) < len(found), all(row.rerank_score >= 0.9 for row in some), page.missing_ids, len(rerank("p q", []))
""",
        [True, True, ["nowhere#1"], 0],
    ),
    "a fetch steps down to the level that fits": (
        """
rows = semantic_search("rule", top_k=12)
modes = [fetch(rows, max_tokens=bound).mode for bound in (100_000, 2_300, 1_200, 250)]
few = fetch(rows, "preview", 5)
return modes, fetch(rows, level="auto").mode, fetch(rows[0]).mode, few.mode, len(few), "max_tokens" in few.warnings[0]
""",
        [["full", "preview", "metadata", "ids_only"], "full", "full", "ids_only", 12, True],
    ),
    "a regular expression takes from a search what it matches": (
        r"""
import re
rows = semantic_search("rule", top_k=15, response_mode="full")
found = grep("rule", r"(?i)\brule (\d+)", top_k=15)
return (
    [row.id for row in found] == [row.id for row in rows if re.search(r"(?i)\brule \d", row.content + " " + row.section)],
    len(found) > 1, all(row.match == row.matches[0] and row.match.isdigit() for row in found),
    sorted(found[0]), all(len(row.matches) == len(set(row.matches)) for row in found),
    grep("backups encrypted", "AES-256", top_k=3)[0].match, grep("backups encrypted", r"(A\w+)-(\d+)", top_k=3)[0].match,
    list(grep("backups encrypted", "no such thing", top_k=3)), list(grep("backups encrypted", "q*", top_k=3)) ,
    kb.grep("backups encrypted", re.compile("AES"), top_k=3)[0].matches,
)
""",
        [
            True,
            True,
            True,
            ["document_id", "file", "id", "match", "matches", "score", "section", "title", "type"],
            True,
            "AES-256",
            ["AES", "256"],
            [],
            [],
            ["AES"],
        ],
    ),
    "a document's id fetches all of its passages in reading order, page by page": (
        """
first = semantic_search("rule", top_k=1, response_mode="preview")[0]
known = [row.id for row in graph.children(first.document_id, hops=5, page_size=200) if row.label == "Chunk"]
other = next(row for row in semantic_search("backups", response_mode="preview") if row.document_id != first.document_id)
both = [first.document_id, other.document_id]
page = fetch(both)
rows = [*page.all()]
names = fetch([first.document_id, first.document_id], "ids")
return (
    25 < len(rows) <= 50, len(page), page.partial, page.limit_reason, [*group_by(rows, "document_id")] == both,
    len({row.id for row in rows}) == len(rows), names.ids == [row.id for row in rows][:len(names)], names.next_cursor,
    fetch([first.id, first.document_id], "ids").ids == [first.id, *names.ids],
    sorted(known) == sorted(names.ids), fetch(first.document_id, max_tokens=700).mode,
)
""",
        [True, 25, True, "page_size", True, True, True, None, True, True, "ids_only"],
    ),
    "ids that are not there are an error of a fetch unless they may be missing": (
        """
row = semantic_search("rule", top_k=1)[0]
told = []
for ids in ("0" * 12, [row, "nowhere#1", "0" * 12], ["0" * 12] * 9):
    try:
        fetch(ids)
    except SDKError as error:
        told.append([error.type, error.message.partition(";")[0]])
page = fetch(["0" * 12, row, "nowhere#1"], missing="skip")
none = fetch("0" * 12, "metadata", missing="skip")
return told, page.ids == [row.id], page.missing_ids, [*none], none.mode, none.missing_ids
""",
        [
            [
                ["NOT_FOUND", "no passage and no document in reach has the id '000000000000'"],
                ["NOT_FOUND", "no passage and no document in reach has the id 'nowhere#1', '000000000000'"],
                ["NOT_FOUND", "no passage and no document in reach has the id '000000000000'"],
            ],
            True,
            ["000000000000", "nowhere#1"],
            [],
            "metadata",
            ["000000000000"],
        ],
    ),
    "unknown ids are an error of every call that takes ids, and left out on request": (
        """
row = semantic_search("rule", top_k=1)[0]
calls = {
    "extract": lambda ids, **more: kb.extract_evidence("which rule", ids, **more),
    "rerank": lambda ids, **more: rerank("which rule", ids, **more),
    "search": lambda ids, **more: semantic_search(filter_ids=ids, **more),
    "ranked": lambda ids, **more: semantic_search("which rule", filter_ids=ids, **more),
    "describe": graph.describe, "expand": graph.expand, "parents": graph.parents, "children": graph.children,
    "paths": lambda ids, **more: graph.paths(ids, row.document_id, **more),
    "entities": graph.entities_for_sections, "sections": graph.sections_for_entities,
}
told = []
for name, call in calls.items():
    for ids in ([row.id, "nowhere#1"], ["nowhere#1"]):
        try:
            told.append([name, len(call(ids))])
        except SDKError as error:
            if (error.type, "nowhere#1" in error.message) != ("NOT_FOUND", True):
                told.append([name, error.type, error.message])
        page = call(ids, missing="skip")
        if page.missing_ids != ["nowhere#1"] or (len(ids) == 1 and len(page)):
            told.append([name, page.missing_ids, len(page)])
for name in ("raise", "skip", "other"):
    try:
        told.append(len(semantic_search(filter_ids=[row], filters={"path_prefix": "nowhere"}, missing=name)))
    except SDKError as error:
        told.append(error.type)
return told
""",
        [0, 0, "INVALID_REQUEST"],
    ),
    "a fetch of rows that were all filtered away is empty and costs no call": (
        """
left = budget().calls
page = fetch(filter_rows(semantic_search("rule"), type="html"))
return list(page), page.mode, page.missing_ids, left - budget().calls
""",
        [[], "full", [], 1],
    ),
    "an iterator over pages ends by itself, and all rows are a list": (
        """
page = graph.children(semantic_search("rule", response_mode="preview")[0].document_id, hops=5, page_size=10)
rows = page.all()
ids = [row.id for row in await page.all()]
return (len(page), len(rows) == len(set(ids)) == page.total, [len(one) for one in page.pages()][0], len(rows) > 10,
        isinstance(rows, list), rows[3].id == ids[3])
""",
        [10, True, 10, True, True, True],
    ),
    "rows of every call have one shape": (
        """
question = "how are backups encrypted"
hit = semantic_search(question, top_k=1)[0]
quote = kb.retrieve_evidence(question)[0]
rows = {
    "metadata": hit, "preview": semantic_search(question, response_mode="preview")[0], "full": fetch(hit)[0],
    "id": semantic_search(question, response_mode="ids")[0], "kb": kb.search(question)[0], "quote": quote,
    "taken": kb.extract_evidence(question, [hit])[0], "excerpt": kb.read_excerpt(hit),
    "wider": kb.expand_excerpt(quote), "grep": grep(question, "AES")[0], "best": rerank(question, [hit.id])[0],
    "node": graph.expand(hit)[0], "path": graph.paths(hit, hit.document_id)[0], "small": summarize([hit])[0],
}
names = ("id", "document_id", "title", "section", "file", "type", "score")
shapes = {kind: [getattr(row, name) for name in names] for kind, row in rows.items()}
known = [kind for kind, row in rows.items() if row.file == hit.file and row.section == hit.section and row.type == hit.type]
same = [kind for kind, row in rows.items() if row.get("text") is not None and row.text == row.content]
return (known, same, quote.document_id == rows["preview"].document_id, quote.score, [shapes["id"][1:], shapes["node"][4]],
        hit.document_id == quote.document_id, quote.get("score", 7), quote.anchor if "anchor" in quote else "none", rows["node"].snippet, rows["node"].tokens != "")
""",
        [
            ["metadata", "preview", "full", "kb", "quote", "taken", "excerpt", "wider", "grep"],
            ["full", "quote", "taken", "excerpt", "wider"],
            True,
            None,
            [[None] * 6, None],
            True,
            7,
            "none",
            None,
            True,
        ],
    ),
    "pages of several questions go on like any": (
        """
pages = search_many(["backups", "billing"], top_k=3)
return [[row.id for row in page.all()] == page.ids for page in pages]
""",
        [True, True],
    ),
    "a row prints as one short line and tells all of itself as a dict": (
        """
row = kb.search("how are backups encrypted")[0]
line, whole = repr(row), row.to_dict()
page = repr(kb.search("backups", top_k=3))
return ("\\n" in line, len(line) <= 160, "Backups handbook" in line, type(whole) is dict, whole["title"] == row.title,
        page.startswith("[") and "\\n" not in page,
        kb.search("how are backups encrypted").to_dict()["results"][0]["section_id"] == row.section_id)
""",
        [False, True, True, True, True, True, True],
    ),
    "conditions on rows hold alone and together": (
        """
rows = semantic_search("rule of the handbook", top_k=100, response_mode="preview")
files = lambda found: sorted({row.file for row in found})
guide = filter_rows(rows, include=r"backups|billing", exclude="billing")
return (
    files(guide), files(filter_rows(rows, language="markdown")) == files(rows), len(filter_rows(rows, language="python")),
    len(filter_by_domain(rows, "ACME")) == len(rows), len(filter_by_domain(rows, ["guide"])) == len(rows),
    files(filter_by_domain(rows, "billing")), len(filter_by_domain(rows, "nobody")),
    all(row.score >= 0.7 for row in filter_by_score(rows, 0.7)),
    files(filter_rows(rows, lambda row: "Billing" in row.title)),
    len(filter_rows(rows, type="code", domain="acme")), len(filter_rows(rows, type="code", domain="acme", match="any")) == len(rows),
    len(filter_rows(rows, metadata={"vendor": "acme", "title": ["Billing handbook", "nothing"]})) == len(filter_by_domain(rows, "billing")),
    len(filter_rows(rows)) == len(rows),
)
""",
        [
            ["guide/backups.md"],
            True,
            0,
            True,
            True,
            ["guide/billing.md"],
            0,
            True,
            ["guide/billing.md"],
            0,
            True,
            True,
            True,
        ],
    ),
    "rows are made one of a kind and grouped": (
        """
pages = search_many(["backups encrypted", "encrypted backups"], top_k=5)
rows = [row for page in pages for row in page]
groups = group_by(rows, "file")
return (len(dedupe(rows)) == len({row.id for row in rows}), len(dedupe(rows, by="title")) == len({row.title for row in rows}),
        len(dedupe(rows, by=lambda row: 1)), list(groups) == list(dict.fromkeys(row.file for row in rows)),
        sum(map(len, groups.values())) == len(rows), list(group_by(rows, "nothing")),
        list(group_by(rows, ["type", "vendor"])))
""",
        [True, True, 1, True, True, [""], ["markdown / acme"]],
    ),
    "what is returned of rows is small": (
        """
rows = semantic_search("backups encrypted", response_mode="full", top_k=3)
small = summarize(rows, max_content_length=50)
said = quotes(kb.retrieve_evidence("how are backups encrypted"))
return (sorted(small[0]), len(small[0].text), list(summarize(rows, fields=["title"])[0]), "AES-256" in said[0].quote,
        said[0].source.startswith("Backups handbook"), cite(rows[0]).endswith(f"[{rows[0].id}]"))
""",
        [["file", "id", "score", "section", "text", "title"], 50, ["title"], True, True, True],
    ),
    "every call may be awaited": (
        """
rows = await semantic_search("backups", top_k=3)
await progress("half way")
return [
    await tokens("one two"), (await budget()).calls > 0, len(await rerank("backups", rows)), len(await dedupe(rows)),
    len(await filter_rows(rows)), len(await group_by(rows, "type")), len(await summarize(rows)), type(await cite(rows[0])) is str,
    len(await quotes(rows)), (await format_for_agent(rows)).startswith("1. "), len(await hybrid_search("backups")) > 0,
    len((await fetch(rows, max_tokens=300)))]
""",
        [2, True, 3, 3, 3, 1, 3, False, 0, True, True, 3],
    ),
    "a run knows what it may still use": (
        """
before = budget()
semantic_search("backups", top_k=7)
texts = fetch(semantic_search("backups", top_k=2))
after = budget()
read = before.text_bytes.left - after.text_bytes.left
return (before.calls - after.calls, read == sum(len(row.content.encode()) for row in texts), after.text_bytes.of,
        0 < after.seconds <= before.seconds <= 30, after.tokens, "rows" in after)
""",
        [3, True, 16 * 1024 * 1024, True, 8000, False],
    ),
    "telling of progress is nothing that is returned": ("progress('half way')", None),
    "counts are those of the bound on results": (
        "return [tokens(''), tokens('Backups are kept'), tokens('word ' * 4_000)]",
        [0, 4, 4001],
    ),
    "what an MCP client is asked in is understood": (
        """
client = MCPClient()
results = await client.semantic_search(query="how are backups encrypted", top_k=50, response_mode="metadata")
relevant = [r["metadata"]["id"] for r in results["results"] if r["metadata"]["vendor"] == "acme" and r["metadata"]["score"] > 0.7][:3]
full = await client.semantic_search(query="encrypted backups", response_mode="full", filter_ids=relevant)
best = await client.rerank("how are backups encrypted", full["results"], top_k=1)
__result__ = {"found": full["count"], "best": best[0]["metadata"]["title"]}
""",
        {"found": 1, "best": "Backups handbook"},
    ),
}


@pytest.fixture(scope="module")
def outcomes(store: Path) -> Mapping[str, Outcome]:
    """The outcome of each script."""

    async def run() -> Mapping[str, Outcome]:
        async with open_application(
            load_settings(store=store, project="handbook"), wait_for_model=True
        ) as application:
            await application.ready()
            every = {**SCRIPTS, **SHAPES, **MISTAKES}
            return {name: await application.scripts.run(code) for name, (code, *_) in every.items()}

    return asyncio.run(run())


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script(name: str, outcomes: Mapping[str, Outcome]) -> None:
    assert (outcomes[name].result, outcomes[name].error) == (SCRIPTS[name][1], None)


SHAPES: Mapping[str, tuple[str, int]] = {
    f"{style} in {bound} tokens": (
        f"return format_for_agent(semantic_search('rule', top_k=40, response_mode='preview'), '{style}', {bound})",
        bound,
    )
    for style in ("text", "table", "json")
    for bound in (50, 300, 20_000)
}


@pytest.mark.parametrize("name", SHAPES)
def test_rows_as_text_take_no_more_tokens_than_asked_for(name: str, outcomes: Mapping[str, Outcome]) -> None:
    text = outcomes[name].result
    assert outcomes[name].error is None
    assert count_tokens(text) <= SHAPES[name][1]
    assert ("left" in text.replace("left_out", "left")) is (SHAPES[name][1] < 20_000)


# A script written without the reference; its error: status, type, line, and what to write.
MISTAKES: Mapping[str, tuple[str, str, str, int | None, str]] = {
    "a wrong keyword": (
        "print('so far')\nrows = rerank('port', kb.search('port'), limit=3)",
        "rejected", "TypeError", 2, "did you mean 'top_k'?",
    ),
    "a misspelt field": (
        "rows = rerank('port', kb.search('port'))\nreturn [row.titel for row in rows]",
        "rejected", "MissingField", 2, "did you mean 'title'?",
    ),
    "a field that another level has": (
        "rows = semantic_search('port')\nreturn [row.content for row in rows]",
        "error", "MissingField", 2, "response_mode='full'",
    ),
    "a forgotten await": (
        "async def look(topic):\n    return await kb.search(topic)\nlook('port')\nreturn 1",
        "error", "NeverAwaited", 3, "write: await look(...)",
    ),
    "an unbounded result": (
        "return list(fetch(semantic_search('rule', top_k=50)))",
        "limit", "ResultTooLarge", None, "return [{name: row.get(name) for name in ['id', ",
    ),
    "a tool in place of a function": ("return kb_search('port')", "rejected", "NameError", 1, "write kb.search(...)"),
    "an import of an address": (
        "from src.mcp_server.client import MCPClient", "rejected", "CodeRejected", 1, "from winnow import MCPClient",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_at_the_first_try(name: str, outcomes: Mapping[str, Outcome]) -> None:
    _, status, type, line, meant = MISTAKES[name]
    outcome, error = outcomes[name], outcomes[name].error
    assert error is not None
    assert (outcome.status, error.type, error.line) == (status, type, line)
    assert meant in f"{error.message} {error.hint}"
