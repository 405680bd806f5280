"""Verbatim sentences of files: whether checks of quotes verify them on their page, and whether scans find them.

    python -m tests.bench.verbatim folder/ --sentences 500 --seed 7 --json verbatim.json

``folder/`` has files of any kinds that are ingested. They are read a second time by programs that share
nothing with the readers: a PDF by ``pdftotext``, page by page; a page of a site, a text of Word or OpenDocument
or a book by ``pandoc``, as plain text; a manual page (``NAME.1``) by ``groff``; of slides and workbooks the
paragraphs and cells in their XML. Sentences are taken from that text by a
seed, from each file in turn, with their white space. Each is checked as a quote of its file, for a PDF with
its page, and is looked for with a scan for plain text in the same file.

A sentence is right if the check says ``verified`` and the scan has a match. The others are listed with the
status and with the text that is closest, to be judged by a person: ``pdftotext`` is wrong at times, too. Changed
sentences are checked by ``tests.bench.altered_quotes``.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any
from xml.etree import ElementTree

import typer

from tests.bench.command_line import command_line
from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.commands.terminal.output import print_lines, report_errors
from winnow.server.errors import WinnowError
from winnow.server.jobs.target import target_of
from winnow.server.operations.knowledge import KnowledgeBase
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

EXAMPLES = (
    "Examples: python -m tests.bench.verbatim folder/ | "
    "python -m tests.bench.verbatim folder/ --sentences 100 --json verbatim.json"
)
LEAST_RIGHT = 0.985
_SENTENCE = re.compile(r"(?<![\w.,;:(-] )(?<!\S)[A-Z][^.!?\f]{50,260}[.!?](?=\s|\Z)")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEAST_WORDS, _LEAST_LETTERS = 8, 0.7
_BATCH = 20
# What pandoc reads, by suffix.
_PANDOC = {
    ".html": "html", ".htm": "html", ".docx": "docx", ".odt": "odt", ".epub": "epub",
    ".md": "gfm",
}  # fmt: skip
# Of other files: the parts that have text, and the elements that a paragraph or a cell is.
_PARTS = {
    ".pptx": (r"ppt/slides/slide\d+\.xml", "}p"),
    ".xlsx": (r"xl/sharedStrings\.xml", "}si"),
    ".ods": (r"content\.xml", "}p"),
    ".odp": (r"content\.xml", "}p"),
}
# The lines that pandoc draws around the cells of a table, and its signs of lists, belong to no sentence.
_DRAWN = re.compile(r"\n *-   |\||\S {4,}\S|-{5,}|\+[-=]{3,}")
_MANUAL = re.compile(r"\.[1-9]\w*")
_SECONDS = 120
_OVERSTRIKE = re.compile(r".\x08")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a file as another program reads it, and its page; 0 for a file without pages."""

    text: str
    file: str
    page: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a sentence: the status of its check, and the matches of a scan for it."""

    sentence: Sentence
    status: str
    matches: int
    closest: str = ""

    @property
    def is_right(self) -> bool:
        """Whether it was verified."""
        return self.status == "verified"


def run(
    folder: Annotated[Path, typer.Argument(help="files of any kinds")],
    sentences: Annotated[int, typer.Option("--sentences", min=1, max=20_000, help="how many to check")] = 500,
    seed: Annotated[int, typer.Option("--seed", help="chooses the sentences")] = 1,
    store: Annotated[Path | None, typer.Option("--store", help="keep the index there")] = None,
    as_json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write the figures there")] = None,
) -> None:
    """Check verbatim sentences of files, and look for them."""
    with report_errors(as_json=False):
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        known = choose(list(read_sentences(folder, files)), sentences, seed)
        if not known:
            raise WinnowError("INVALID_REQUEST", f"{folder} has no file with sentences")
        with tempfile.TemporaryDirectory() as kept:
            settings = load_settings(store=store or Path(kept), graph="off", embedding="off")
            ingest_folder(settings, folder)
            started = time.monotonic()
            outcomes = asyncio.run(_check_all(settings, known))
            seconds = time.monotonic() - started
    facts = summarize(outcomes) | {"seconds": round(seconds, 1), "seed": seed}
    print_lines(json.dumps(facts, indent=1))
    failed = [each for each in outcomes if not (each.is_right and each.matches)]
    for each in failed:
        print_lines(
            f"  {each.status} ({each.matches} matches) {each.sentence.file} p. {each.sentence.page}: "
            f"{each.sentence.text!r} -> {each.closest!r}"
        )
    if as_json:
        rows = [asdict(each) for each in failed]
        as_json.write_text(json.dumps(facts | {"failed": rows}, indent=1) + "\n", "utf-8")


def summarize(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures, all together and by kind of file."""
    kinds: dict[str, list[Outcome]] = {}
    for each in outcomes:
        kinds.setdefault(_kind(Path(each.sentence.file)), []).append(each)
    return {
        "sentences": len(outcomes),
        "files": len({each.sentence.file for each in outcomes}),
        "verified": round(sum(each.is_right for each in outcomes) / len(outcomes), 4),
        "found": round(sum(each.matches > 0 for each in outcomes) / len(outcomes), 4),
        "statuses": dict(Counter(each.status for each in outcomes)),
        "kinds": {
            kind: f"{sum(each.is_right for each in some)} verified, "
            f"{sum(each.matches > 0 for each in some)} found of {len(some)}"
            for kind, some in sorted(kinds.items())
        },
    }


# --- sentences


def read_sentences(folder: Path, files: Sequence[Path]) -> Iterator[Sentence]:
    """The sentences of these files, as other programs read them."""
    for path in files:
        for number, text in enumerate(read_pages(path), start=1):
            page = number if path.suffix == ".pdf" else 0
            for sentence in split_sentences(text):
                if path.suffix in _PANDOC and is_drawn(sentence):
                    continue
                yield Sentence(sentence, path.relative_to(folder).as_posix(), page)


def is_drawn(sentence: str) -> bool:
    """Whether a sentence has lines or signs that only the program draws."""
    return _DRAWN.search(sentence) is not None


def read_pages(path: Path) -> list[str]:
    """The text of a file, by page where it has some; [] for a file that none of the programs reads."""
    kind = _kind(path)
    if kind == "pdf":
        return _output("pdftotext", "-q", str(path), "-").split("\f")
    if kind == "man":
        return [
            _OVERSTRIKE.sub("", _output("groff", "-t", "-mandoc", "-K", "utf8", "-Tutf8", "-P-cbou", str(path)))
        ]
    if path.suffix in _PARTS:
        return ["\n\n".join(_paragraphs(path, *_PARTS[path.suffix]))]
    if kind:
        return [_output("pandoc", "--from", kind, "--to", "plain", "--wrap", "none", str(path))]
    return []


def _paragraphs(path: Path, parts: str, element: str) -> Iterator[str]:
    """The paragraphs or cells of these parts; none of a damaged file."""
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        for name in filter(re.compile(parts).fullmatch, archive.namelist()):
            for each in ElementTree.fromstring(archive.read(name)).iter():
                if each.tag.endswith(element):
                    yield "".join(each.itertext())


def _kind(path: Path) -> str:
    if path.suffix == ".pdf" or path.suffix in _PARTS:
        return path.suffix[1:]
    return "man" if _MANUAL.fullmatch(path.suffix) else _PANDOC.get(path.suffix, "")


def plain_text(file: str, text: str) -> str:
    """The text of a file in an index without its marks: Markdown, or the source of a manual page."""
    kind = "man" if _MANUAL.fullmatch(Path(file).suffix) else "gfm"
    return _output("pandoc", "--from", kind, "--to", "plain", "--wrap", "none", given=text)


def _output(*command: str, given: str = "") -> str:
    if shutil.which(command[0]) is None:
        raise WinnowError("INVALID_REQUEST", f"{command[0]} is not installed, and the comparison needs it")
    done = subprocess.run(command, input=given.encode(), capture_output=True, check=False, timeout=_SECONDS)
    return done.stdout.decode("utf-8", "replace")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text that are prose: within a paragraph, mostly of letters."""
    found = (
        each
        for paragraph in re.split(r"\n[ \t]*\n", text)
        for each in _SENTENCE.findall(paragraph)
        if "\ufffd" not in each
    )
    return [each for each in found if _is_prose(each)]


def _is_prose(text: str) -> bool:
    words = _WORD.findall(text)
    return len(words) >= _LEAST_WORDS and sum(map(len, words)) >= _LEAST_LETTERS * len("".join(text.split()))


def choose(found: Sequence[Sentence], count: int, seed: int) -> list[Sentence]:
    """As many sentences: one of each file in turn, in an order that the seed makes."""
    chance = random.Random(seed)
    files: dict[str, list[Sentence]] = {}
    for each in found:
        files.setdefault(each.file, []).append(each)
    for some in files.values():
        chance.shuffle(some)
    turns = (some[turn] for turn in range(count) for some in files.values() if turn < len(some))
    return [each for each, _ in zip(turns, range(count), strict=False)]


# --- checks


def ingest_folder(settings: Settings, folder: Path) -> None:
    """Ingest a folder, and print what could not be read."""
    backends = open_backends(settings, wait_for_model=True)
    try:
        report = ingest_paths(target_of(settings, backends, backends.embedder.wait()), [folder])
    finally:
        backends.close()
    print_lines(*(f"  not ingested: {failure}" for failure in report.failures))


async def _check_all(settings: Settings, sentences: Sequence[Sentence]) -> list[Outcome]:
    kb = make_knowledge_base(settings, wait_for_model=True)
    try:
        await kb.open()
        uris = await list_uris(kb)
        outcomes = []
        for at in range(0, len(sentences), _BATCH):
            outcomes += await _check(kb, uris, sentences[at : at + _BATCH])
        return outcomes
    finally:
        await kb.aclose()


async def list_uris(kb: KnowledgeBase) -> list[str]:
    """The addresses of all documents."""
    found: list[str] = []
    cursor = None
    while True:
        asked: dict[str, Any] = {"cursor": cursor} if cursor else {}
        payload = (await kb.call("kb.documents", asked, kb.caller("bench"))).payload
        found += [row["file"] for row in payload["results"]]
        if not (cursor := payload["next_cursor"]):
            return found


async def _check(kb: KnowledgeBase, uris: Sequence[str], sentences: Sequence[Sentence]) -> list[Outcome]:
    named = [uri_of(uris, each.file) for each in sentences]
    outcomes = []
    for each, uri, row in zip(sentences, named, await audit(kb, sentences, named), strict=True):
        asked = {"pattern": each.text, "literal": True, "path": uri, "limit": 1}
        matches = (await kb.call("kb.scan", asked, kb.caller("bench"))).payload["total"]["matches"]
        outcomes.append(Outcome(each, row["status"], matches, row.get("text", row.get("locator", ""))))
    return outcomes


async def audit(kb: KnowledgeBase, sentences: Sequence[Sentence], uris: Sequence[str]) -> list[Any]:
    """The row of each sentence, checked as a quote of the document with its uri."""
    quotes = [
        {"quote": each.text, "source": uri, **({"page": f"p. {each.page}"} if each.page else {})}
        for each, uri in zip(sentences, uris, strict=True)
    ]
    rows: list[Any] = []
    cursor = None
    while len(rows) < len(quotes):
        asked = {"quotes": quotes, **({"cursor": cursor} if cursor else {})}
        payload = (await kb.call("citations.audit.check", asked, kb.caller("bench"))).payload
        rows += payload["results"]
        cursor = payload["next_cursor"]
    return rows


def uri_of(uris: Sequence[str], file: str) -> str:
    """The uri of a file of the folder."""
    return next((uri for uri in uris if uri == file or uri.endswith(f"/{file}")), file)


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app()
