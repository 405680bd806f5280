"""What the walks of the prompts of claims cost, against reading the entries that they are about.

    python -m tests.bench.walks --collection docs/ --json

Each page of a folder of Markdown becomes an entry: the page is its content, and sentences of it, with themselves
as quotes, are its claims. A tenth of the pages gets an opponent: another page that has another number in a claim.
Then the tools are called in the steps that the prompts ``research``, ``contradictions`` and ``explore`` name
(``WALKS``). Counted are the tokens of the answers, as text and as structure; against them stand those of the
contents of all entries that the answers of a walk name, without anything around them. Without a folder the pages
are made here.
"""

from __future__ import annotations

import asyncio
import random
import re
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from mcp import Client
from rich.table import Table

from tests.bench.command_line import command_line
from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.claims.language.distilling import distil
from winnow.server.claims.records import CLAIM_CHARS
from winnow.server.claims.verifying import CurrentIndex
from winnow.server.commands.entry.app import open_application
from winnow.server.commands.terminal.output import Json, print_json, report_errors
from winnow.server.commands.terminal.screen import Screen
from winnow.server.commands.token_benchmark.counting import Cost, cost_of
from winnow.server.contracts.claims.arguments import MAX_CONTENT_CHARS
from winnow.server.errors import WinnowError
from winnow.server.jobs.target import target_of
from winnow.server.models import Filters
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.quotes.finding import find_quote
from winnow.server.text.quotes.sources import SourceText
from winnow.server.text.words.tokens import count_tokens
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

EXAMPLES = (
    "Examples: python -m tests.bench.walks | python -m tests.bench.walks --collection docs/ --entries 200 --json"
)
_TWENTY = 20
_LEAST_RESULTS, _FOLLOWED = 3, 3
_SPARE = 100  # characters by which an opponent may be longer
_ENTRY = re.compile(r"[0-9a-z]{12}")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?![\w.,]|\.\d)")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its name, topic, title and text."""

    name: str
    topic: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Opponent:
    """A page and another one like it, and the claim of each that contradicts the other's."""

    page: Page
    other: Page
    claim: str
    opposed: str


@dataclass(slots=True)
class Walk:
    """The calls of one walk: their cost, and the entries that their answers name."""

    client: Client
    cost: Cost = field(default_factory=Cost)
    entries: set[str] = field(default_factory=set)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; its structured answer."""
        reply = await self.client.call_tool(tool, arguments)
        if reply.is_error or reply.structured_content is None:
            raise WinnowError("INTERNAL", f"{tool}: {reply.structured_content}")
        self.cost += cost_of(tool, arguments, reply)
        self.entries |= set(_entries_of(reply.structured_content))
        return dict(reply.structured_content)


def _entries_of(value: Any, name: str = "") -> Iterator[str]:
    """The entries that an answer names, by themselves or by one of their claims."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _entries_of(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from _entries_of(each, name)
    elif name in ("entry_id", "other") and (found := _ENTRY.match(str(value))):
        yield found[0]


def run(
    collection: Annotated[
        Path | None, typer.Option("--collection", metavar="DIR", help="a folder of Markdown; default: made here")
    ] = None,
    entries: Annotated[int, typer.Option("--entries", min=10, max=5_000, help="in the notebook")] = 200,
    walks: Annotated[int, typer.Option("--walks", min=1, max=1_000, help="of each prompt")] = 20,
    least_chars: Annotated[int, typer.Option("--least-chars", min=1, help="of a page")] = 4_000,
    seed: Annotated[int, typer.Option("--seed", help="chooses pages, questions and topics")] = 1,
    as_json: Json = False,
) -> None:
    """Tokens of the walks of the three prompts, and of the contents of the entries that they are about."""
    with report_errors(as_json=as_json), tempfile.TemporaryDirectory() as folder:
        choice = random.Random(seed)
        pages = list(_read_pages(collection, least_chars)) if collection else list(made_pages(entries, choice))
        if not pages:
            raise WinnowError("NOT_FOUND", f"{collection} has no Markdown of {least_chars:,} characters or more")
        choice.shuffle(pages)
        figures = asyncio.run(measure(Path(folder), pages[:entries], walks, choice))
    if as_json:
        print_json(figures)
    else:
        _show(figures)


async def measure(folder: Path, pages: Sequence[Page], walks: int, choice: random.Random) -> dict[str, Any]:
    """Medians of each prompt: tokens of its walk, of the contents of its entries, and their quotient."""
    settings = load_settings(
        store=folder / "store",
        graph="off",
        execute_code="off",
        daemon="off",
        tools="claims",
        enable_writes=True,
        calls_per_minute=100_000,
    )
    opponents = _opponents(pages, choice)
    if not opponents:
        raise WinnowError("INVALID_REQUEST", "no claim of these pages has a number that can be altered")
    entries = _index(settings, folder / "pages", pages, opponents)
    async with (
        open_application(settings, wait_for_model=True) as application,
        Client(build_server(Dispatcher(application.context, settings), application)) as client,
    ):
        ids = [(await Walk(client).call("wild_write", **entry))["entry_id"] for entry in entries]
        by_source = {entry["source"]: id for entry, id in zip(entries, ids, strict=True)}
        for opponent in opponents:
            await _oppose(client, by_source, opponent)
        topics = sorted({each.page.topic for each in opponents})
        contents = {id: count_tokens(entry["content"]) for entry, id in zip(entries, ids, strict=True)}
        asked = [(choice.choice(pages), choice.choice(topics)) for _ in range(walks)]
        rows = {}
        for name, walk in WALKS.items():
            done = [Walk(client) for _ in asked]
            for each, (page, topic) in zip(done, asked, strict=True):
                await walk(each, page, topic)
            rows[name] = _row(done, contents)
        twenty = await _twenty_claims(client, ids)
    return {
        "entries": len(entries),
        "claims": sum(len(entry["claims"]) for entry in entries),
        "entry_tokens": median(contents.values()),
        "walks": walks,
        "prompts": rows,
        "twenty_claims": twenty,
    }


def _row(walks: Sequence[Walk], contents: Mapping[str, int]) -> dict[str, Any]:
    reading = [sum(contents[id] for id in walk.entries) for walk in walks]
    pairs = list(zip(walks, reading, strict=True))
    return {
        "calls": median(walk.cost.calls for walk in walks),
        "entries": median(len(walk.entries) for walk in walks),
        "reading": median(reading),
        **{name: median(getattr(walk.cost, name) for walk in walks) for name in ("text", "structured")},
        **{
            f"share_{name}": {
                "median": round(median(shares), 4),
                "most": round(max(shares), 4),
            }
            for name in ("text", "structured")
            if (shares := [getattr(walk.cost, name) / read for walk, read in pairs])
        },
    }


async def _research(walk: Walk, page: Page, topic: str) -> None:
    found = (await walk.call("wild_search", query=page.title, mode="semantic"))["results"]
    if len(found) < _LEAST_RESULTS:
        found += (await walk.call("wild_search", query=page.topic.replace("/", " "), mode="hybrid"))["results"]
    for row in found[:_FOLLOWED]:
        await walk.call("wild_related", entry_id=row["entry_id"])
    best = found[0]  # its first claim is the nearest one
    await walk.call("wild_read", entry_id=best["entry_id"], claims=[best["claims"][0]["n"]])


async def _contradictions(walk: Walk, page: Page, topic: str) -> None:
    found = (await walk.call("wild_friction", topic_prefix=topic))["results"]
    judged: set[frozenset[str]] = set()
    for row in found:
        top = row["top_contradiction"]
        if (pair := frozenset((top["claim"], top["other"]))) in judged:
            continue
        judged.add(pair)
        if row["contradiction_count"] > 1:
            await walk.call("wild_related", entry_id=row["entry_id"], direction="contradicts")
        for claim in (top["claim"], top["other"]):
            entry_id, _, number = claim.partition(".")
            await walk.call("wild_read", entry_id=entry_id, claims=[int(number)])
        verdict = {"claim": int(top["claim"].partition(".")[2]), "other": top["other"]}
        note = "the quotes are of two versions"
        verdicts = [{**verdict, "judgement": "contradicts", "note": note}]
        await walk.call("wild_revise", entry_id=row["entry_id"], verdicts=verdicts)


async def _explore(walk: Walk, page: Page, topic: str) -> None:
    topics = (await walk.call("wild_topics"))["topics"]
    largest = sorted(topics, key=lambda row: -row["entry_count"])[:_FOLLOWED]
    for row in largest:
        query = row["topic"].replace("/", " ")
        found = (await walk.call("wild_search", query=query, topic_prefix=row["topic"]))["results"]
        if found:
            await walk.call("wild_related", entry_id=found[0]["entry_id"])


# Prompt -> its steps: for a page that a question is about, or for a topic with contradictions.
WALKS: Mapping[str, Callable[[Walk, Page, str], Awaitable[None]]] = {
    "research": _research,
    "contradictions": _contradictions,
    "explore": _explore,
}


async def _twenty_claims(client: Client, ids: Sequence[str]) -> dict[str, float]:
    """Tokens of the claims of an entry that has twenty, at the median; {} where none has."""
    costs = []
    for id in ids:
        walk = Walk(client)
        (entry,) = (await walk.call("wild_claims", entry_ids=[id]))["entries"]
        if len(entry["claims"]) == _TWENTY:
            costs.append(walk.cost)
    return (
        {name: median(getattr(cost, name) for cost in costs) for name in ("text", "structured")} if costs else {}
    )


def _read_pages(folder: Path, least: int) -> Iterator[Page]:
    """The pages of a folder; a name such as "concepts_storage_volumes.md" has the topic "concepts/storage"."""
    for path in sorted(folder.rglob("*.md")):
        text = _FRONT_MATTER.sub("", path.read_text("utf-8", "replace"))[: MAX_CONTENT_CHARS - _SPARE]
        if len(text) >= least:
            *topic, title = path.relative_to(folder).with_suffix("").as_posix().replace("_", "/").split("/")
            yield Page(path.name, "/".join(filter(None, topic)) or "all", title.replace("-", " "), text)


def made_pages(count: int, choice: random.Random) -> Iterator[Page]:
    """Pages about parts of a harbour, with numbers."""
    things = ("crane", "pier", "lamp", "tug", "gate", "buoy", "winch", "ferry", "dock", "signal")
    for number in range(count):
        thing = things[number % len(things)]
        lines = (
            f"The {thing} {number * 300 + n} is kept by crew {choice.randint(2, 900)} "
            f"for {choice.randint(2, 90)} days."
            for n in range(240)
        )
        yield Page(f"{thing}{number}.md", f"harbour/{thing}s", f"{thing} {number}", "\n\n".join(lines))


def _opponents(pages: Sequence[Page], choice: random.Random) -> list[Opponent]:
    """For a tenth of the pages, one that says the same but for one number of a claim."""
    found: list[Opponent] = []
    for page in pages:
        source = SourceText(page.text)
        claim = next((text for text in _claims(page, source) if _NUMBER.search(text)), "")
        if not claim or len(found) == max(1, len(pages) // 10):
            continue
        larger = int(_NUMBER.findall(claim)[0]) + choice.randint(1, 99)
        match = find_quote(claim, source)[0]
        changed = _NUMBER.sub(str(larger), page.text[match.start : match.end], count=1)
        text = page.text[: match.start] + changed + page.text[match.end :]
        other = Page(f"other-{page.name}", page.topic, page.title, text)
        found.append(Opponent(page, other, claim, _NUMBER.sub(str(larger), claim, count=1)))
    return found


def _claims(page: Page, source: SourceText) -> list[str]:
    """Sentences of a page that stand in it, at most 20."""
    texts = [each.text[:CLAIM_CHARS] for each in distil(page.text).sentences]
    return [text for text in texts if find_quote(text, source)]


def _index(
    settings: Settings, folder: Path, pages: Sequence[Page], opponents: Sequence[Opponent]
) -> list[dict[str, Any]]:
    """Ingest the pages and their opponents, without vectors; what is written of each."""
    folder.mkdir()
    for page in (*pages, *(each.other for each in opponents)):
        (folder / page.name).write_text(page.text, "utf-8")
    with closing(open_backends(settings, wait_for_model=False)) as backends:
        ingest_paths(target_of(settings, backends, None), [folder])
        index = CurrentIndex(backends.catalogue, Filters(settings.project))
        claims = {page.name: _claims(page, SourceText(page.text)) for page in pages}
        written = [_entry(index, page, claims[page.name]) for page in pages]
        for each in opponents:
            texts = [each.opposed if text == each.claim else text for text in claims[each.page.name]]
            written.append(_entry(index, each.other, texts))
        return written


def _entry(index: CurrentIndex, page: Page, texts: Sequence[str]) -> dict[str, Any]:
    """What is written of a page: its text, and these claims with themselves as quotes."""
    document = index.document(page.name)
    if document is None:
        raise WinnowError("INTERNAL", f"{page.name} was not indexed")
    source = index.text(document)
    places = {text: found[0].start for text in texts if (found := find_quote(text, source))}
    claims = [
        {"text": text, "evidence": [{"section_id": index.passage_at(document, start), "quote": text}]}
        for text, start in places.items()
    ]
    facts = {"title": page.title[:200], "content": page.text, "author": "bench", "source": page.name}
    return {"topic": page.topic[:200], "claims": claims, **facts}


async def _oppose(client: Client, ids: Mapping[str, str], opponent: Opponent) -> None:
    """Record that two entries contradict each other."""
    first, second = ids[opponent.page.name], ids[opponent.other.name]
    found = (await Walk(client).call("wild_claims", entry_ids=[first, second]))["entries"]
    own, other = ({claim["text"]: claim["n"] for claim in row["claims"]} for row in found)
    pair = {"claim": own[opponent.claim], "other": f"{second}.{other[opponent.opposed]}"}
    await Walk(client).call("wild_revise", entry_id=first, verdicts=[{**pair, "judgement": "contradicts"}])


def _show(figures: Mapping[str, Any]) -> None:
    title = f"{figures['entries']:,} entries of {figures['entry_tokens']:,} tokens, {figures['walks']} walks each"
    table = Table("", "calls", "entries", "reading", "text", "structured", "share (most)", title=title)
    for name, row in figures["prompts"].items():
        shares = (
            f"{row[f'share_{kind}'][of]:.1%}" for kind in ("text", "structured") for of in ("median", "most")
        )
        numbers = (f"{row[key]:,.0f}" for key in ("calls", "entries", "reading", "text", "structured"))
        table.add_row(name, *numbers, "{} ({}), {} ({})".format(*shares))
    screen = Screen(highlight=False)
    screen.print(table)
    screen.print(f"twenty claims: {figures['twenty_claims']}")


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app()
