"""Altered quotes of files, of which none may be verified, and true ones as readers copy them.

    python -m tests.bench.altered_quotes folder/ --changes 10000 --true 2000 --seed 7 --json altered.json

``folder/`` has files of any kinds that are ingested. Sentences of them are taken as ``tests.bench.verbatim``
takes them, from the text that other programs read. Two kinds of quotes are made of these by a seed:

    altered   a digit, a decimal point, a unit or a name is another one; "not" or "only" is put in or left out; a
              word is left out, or two are exchanged; a quote begins within a number or a word ("able" of
              "unable"); an ellipsis hides words; another page or another document is named
    true      other white space, curly quotation marks, ligatures made or undone, words divided at the end of a
              line or joined again, other dashes

Each quote is checked by ``citations.audit.check`` and as evidence of a claim (which names no page). An altered
quote is a failure if either says ``verified``, a true one unless both do. What is true is decided by other
programs alone. An alteration that happens to say what the document says somewhere else is left out. A true
sentence has the words of the text in the index, one by one, as ``pandoc`` reads that; how many others there are
is counted, and ``tests.bench.verbatim`` lists them: there the readers of files differ, not the quotes.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tests.bench.command_line import command_line
from tests.bench.verbatim import (
    Sentence,
    audit,
    ingest_folder,
    is_drawn,
    list_uris,
    plain_text,
    read_pages,
    split_sentences,
    uri_of,
)
from winnow.server.backends.opening import open_backends
from winnow.server.claims.records import CLAIM_CHARS, Claim, Evidence
from winnow.server.claims.verifying import CurrentIndex, check_claim
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.commands.terminal.output import print_lines, report_errors
from winnow.server.errors import WinnowError
from winnow.server.models import Filters
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

EXAMPLES = (
    "Examples: python -m tests.bench.altered_quotes folder/ | "
    "python -m tests.bench.altered_quotes folder/ --changes 1000 --true 200 --json altered.json"
)
LEAST_TRUE = 0.995
# Few enough for one call on a busy machine: each that is not verified is searched for in other documents. Those of
# one file share its text.
_BATCH = 25
# An alteration is tried at so many places of each sentence.
_TURNS = 20
_INNER = re.compile(r"(?<=\s)[^\W\d_]{2,}(?=\s)")
_NAME = re.compile(r"(?<=[a-z] )[A-Z][a-z]{2,}(?=\s)")
_NEGATION = re.compile(r"\s(?:not|no|never)(?=\s)")
_ONLY = re.compile(r"\s(?:only|just|solely|except)(?=\s)")
_POINT = re.compile(r"(?<=\d)[.,](?=\d)")
_NEGATED = re.compile(r"(?<=\s)(?:un|non|in|dis|im)-?(?=[a-z]{4,}\s)")
_UNITS = (
    ("milliseconds", "seconds", "minutes", "hours", "days", "weeks", "months", "years"),
    ("millisecond", "second", "minute", "hour", "day", "week", "month", "year"),
    ("bits", "bytes", "kilobytes", "megabytes", "gigabytes"),
    ("bit", "byte", "kilobyte", "megabyte", "gigabyte"),
    ("kB", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB"),
    ("Hz", "kHz", "MHz", "GHz"),
    ("mm", "cm", "km", "inches", "points", "pixels"),
    ("ms", "ns", "us"),
    ("characters", "words", "lines", "pages", "columns", "rows"),
    ("dB", "percent", "degrees"),
)
_UNIT = re.compile(rf"(?<![\w-])(?:{'|'.join(unit for units in _UNITS for unit in units)})(?![\w-])")
_LIGATURES = {"ffi": "\ufb03", "ffl": "\ufb04", "ff": "\ufb00", "fi": "\ufb01", "fl": "\ufb02"}
_KEPT = re.compile(r"\w|(?<=\d)[.,](?=\d)")
_DIVIDED = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad]\s*\n\s*(?=[^\W\d_])")

Change = Callable[[str, random.Random], str]


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote of a file, the sentence that it was made of, and what was done to that."""

    kind: str
    sentence: Sentence
    made_of: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the check of citations and the check of evidence say of a quote; "" for no check."""

    quote: Quote
    audit: str
    evidence: str

    @property
    def is_called_verified(self) -> bool:
        """Whether either check says that the quote stands there."""
        return "verified" in (self.audit, self.evidence)

    @property
    def is_verified(self) -> bool:
        """Whether both say so."""
        return (self.audit, self.evidence) == ("verified", "verified")


class Pages:
    """The pages of the files of a folder as other programs read them."""

    def __init__(self, folder: Path) -> None:
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        read = {path.relative_to(folder).as_posix(): read_pages(path) for path in files}
        self._pages = {file: pages for file, pages in read.items() if pages}
        self._kept = {file: keep("\n".join(pages)) for file, pages in self._pages.items()}

    @property
    def files(self) -> Sequence[str]:
        """The files that have any text."""
        return list(self._pages)

    def sentences(self) -> Iterator[Sentence]:
        """The sentences of all files, of a PDF with their pages; none with signs that only pandoc draws."""
        for file, pages in self._pages.items():
            for number, text in enumerate(pages, start=1):
                for sentence in split_sentences(text):
                    if not file.endswith(".pdf") and is_drawn(sentence):
                        continue
                    yield Sentence(sentence, file, number if file.endswith(".pdf") else 0)

    def has_whole(self, text: str, file: str) -> bool:
        """Whether a file has this text between the borders of words and numbers."""
        words = r"\s+".join(map(re.escape, text.split()))
        whole = rf"(?<![\w\u2010-])(?<!\d[.,]){words}(?!\w)(?![.,]\d)"
        return re.search(whole, "\n".join(self._pages[file])) is not None

    def has(self, text: str, file: str) -> bool:
        """Whether a file has this text, apart from white space and punctuation."""
        return keep(text) in self._kept[file]

    def other_pages(self, sentence: Sentence) -> list[int]:
        """The pages of the file that neither have the sentence nor are beside one that has it, by any number."""
        pages = self._pages[sentence.file]
        wanted = keep(sentence.text)
        having = {number for number, text in enumerate(pages, start=1) if wanted in keep(text)} | {sentence.page}
        # Printed numbers of pages are numbers in their first or last lines.
        printed = {
            int(digits) for number in having for digits in re.findall(r"\d{1,4}", _edges(pages[number - 1]))
        }
        near = {number + step for number in having | printed for step in (-1, 0, 1)}
        return [number for number in range(1, len(pages) + 1) if number not in near]


def _edges(page: str) -> str:
    lines = [line for line in page.splitlines() if line.strip()]
    return "\n".join((*lines[:3], *lines[-3:]))


def keep(text: str) -> str:
    """The letters and digits of a text, with decimal points: what an alteration changes."""
    return "".join(_KEPT.findall(unicodedata.normalize("NFKC", _DIVIDED.sub("", text))))


def run(
    folder: Annotated[Path, typer.Argument(help="files of any kinds")],
    changes: Annotated[int, typer.Option("--changes", min=0, max=100_000, help="altered quotes")] = 10_000,
    true: Annotated[int, typer.Option("--true", min=0, max=100_000, help="true quotes")] = 2_000,
    seed: Annotated[int, typer.Option("--seed", help="chooses sentences and alterations")] = 1,
    store: Annotated[Path | None, typer.Option("--store", help="keep the index there")] = None,
    as_json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write the figures there")] = None,
) -> None:
    """Check altered quotes of files, and true ones as readers copy them."""
    with report_errors(as_json=False):
        pages = Pages(folder)
        chance = random.Random(seed)
        sentences = list(pages.sentences())
        if not sentences:
            raise WinnowError("INVALID_REQUEST", f"{folder} has no file with sentences")
        chance.shuffle(sentences)
        altered = list(alter(sentences, pages, chance, changes))
        with tempfile.TemporaryDirectory() as kept:
            settings = load_settings(store=store or Path(kept), graph="off", embedding="off")
            ingest_folder(settings, folder)
            indexed = indexed_sentences(settings, sentences)
            quotes = [*altered, *copy(indexed, chance, true)]
            started = time.monotonic()
            outcomes = check(settings, quotes)
            seconds = time.monotonic() - started
    facts = summarize(outcomes) | {
        "files": len(pages.files),
        "sentences": len(sentences),
        "sentences_indexed": len(indexed),
        "seconds": round(seconds, 1),
        "seed": seed,
    }
    print_lines(json.dumps(facts, indent=1))
    failed = [each for each in outcomes if not is_right(each)]
    for each in failed:
        shown = f"{each.audit}/{each.evidence} {each.quote.sentence.file} p. {each.quote.sentence.page}"
        print_lines(f"  {each.quote.kind} {shown}: {each.quote.sentence.text!r} of {each.quote.made_of!r}")
    if as_json:
        as_json.write_text(json.dumps(facts | {"failed": [asdict(each) for each in failed]}, indent=1) + "\n")


def is_right(outcome: Outcome) -> bool:
    """Whether a true quote is verified, and an altered one is not."""
    return outcome.is_verified if outcome.quote.kind in COPIES else not outcome.is_called_verified


def summarize(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures, and those of each kind."""
    altered = [each for each in outcomes if each.quote.kind not in COPIES]
    copied = [each for each in outcomes if each.quote.kind in COPIES]
    kinds: dict[str, list[Outcome]] = {}
    for each in outcomes:
        kinds.setdefault(each.quote.kind, []).append(each)
    return {
        "altered": len(altered),
        "altered_called_verified": sum(each.is_called_verified for each in altered),
        "true": len(copied),
        "true_verified": round(sum(each.is_verified for each in copied) / max(1, len(copied)), 4),
        "kinds": {
            kind: f"{sum(map(is_right, some))} right of {len(some)}: {dict(Counter(each.audit for each in some))}"
            for kind, some in sorted(kinds.items())
        },
    }


# --- altered quotes


def alter(sentences: Sequence[Sentence], pages: Pages, chance: random.Random, count: int) -> Iterator[Quote]:
    """``count`` altered quotes, of each kind as many where there are enough."""
    names = sorted({name for each in sentences for name in _NAME.findall(each.text)}) or ["Faraday"]
    alterations: dict[str, Iterator[Quote]] = {
        kind: _altered(kind, change, sentences, pages, chance) for kind, change in ALTERATIONS.items()
    }
    alterations["name"] = _altered("name", lambda text, by: _other_name(text, by, names), sentences, pages, chance)
    alterations["page"] = _misplaced(sentences, pages, chance)
    alterations["document"] = _misattributed(sentences, pages, chance)
    made = 0
    while alterations and made < count:
        for kind in list(alterations):
            quote = next(alterations[kind], None)
            if quote is None:
                del alterations[kind]
            elif made < count:
                made += 1
                yield quote


def _altered(
    kind: str, change: Change, sentences: Sequence[Sentence], pages: Pages, chance: random.Random
) -> Iterator[Quote]:
    known: set[tuple[str, str]] = set()
    for _ in range(_TURNS):
        for each in sentences:
            text = change(each.text, chance)
            is_new = text and (text, each.file) not in known and keep(text) != keep(each.text)
            has = pages.has_whole if kind in _CUTS else pages.has
            if is_new and not has(text, each.file):
                known.add((text, each.file))
                yield Quote(kind, replace(each, text=text), each.text)


def _misplaced(sentences: Sequence[Sentence], pages: Pages, chance: random.Random) -> Iterator[Quote]:
    """True quotes with another page of their file."""
    for _ in range(_TURNS):
        for each in sentences:
            if each.page and (others := pages.other_pages(each)):
                yield Quote("page", replace(each, page=chance.choice(others)), each.text)


def _misattributed(sentences: Sequence[Sentence], pages: Pages, chance: random.Random) -> Iterator[Quote]:
    """True quotes with another document."""
    for _ in range(_TURNS):
        for each in sentences:
            other = chance.choice(pages.files)
            if not pages.has(each.text, other):
                yield Quote("document", Sentence(each.text, other), each.text)


def _replace_one(pattern: re.Pattern[str], text: str, chance: random.Random, new: Callable[[str], str]) -> str:
    """The text with another one in place of one match; "" without a match."""
    found = list(pattern.finditer(text))
    if not found:
        return ""
    match = chance.choice(found)
    return f"{text[: match.start()]}{new(match[0])}{text[match.end() :]}"


def _other_digit(text: str, chance: random.Random) -> str:
    return _replace_one(re.compile(r"\d"), text, chance, lambda old: str((int(old) + chance.randint(1, 9)) % 10))


def _other_point(text: str, chance: random.Random) -> str:
    return _replace_one(_POINT, text, chance, lambda _: "")


def _other_unit(text: str, chance: random.Random) -> str:
    def other(unit: str) -> str:
        return chance.choice([each for units in _UNITS if unit in units for each in units if each != unit])

    return _replace_one(_UNIT, text, chance, other)


def _other_name(text: str, chance: random.Random, names: Sequence[str]) -> str:
    return _replace_one(
        _NAME, text, chance, lambda old: chance.choice([each for each in names if each != old] or [""])
    )


def _insert(word: str) -> Change:
    return lambda text, chance: _replace_one(_INNER, text, chance, lambda old: f"{word} {old}")


def _leave_out(pattern: re.Pattern[str]) -> Change:
    return lambda text, chance: _replace_one(pattern, text, chance, lambda _: "")


def _exchange_words(text: str, chance: random.Random) -> str:
    pair = re.compile(r"(?<=\s)(?P<one>[^\W\d_]{2,})(?P<between>\s+)(?P<other>[^\W\d_]{2,})(?=\s)")

    def exchange(old: str) -> str:
        one, other = old.split()
        return f"{other} {one}"

    return _replace_one(pair, text, chance, exchange)


def _cut_number(text: str, chance: random.Random) -> str:
    """The rest of the sentence from behind the point of a number."""
    found = [each.end() for each in _POINT.finditer(text) if len(text) - each.end() > 40]
    return text[chance.choice(found) :] if found else ""


def _end_in_number(text: str, chance: random.Random) -> str:
    """The sentence up to the point of a number."""
    found = [each.start() for each in _POINT.finditer(text) if each.start() > 40]
    return text[: chance.choice(found)] if found else ""


def _cut_word(text: str, chance: random.Random) -> str:
    """The rest of the sentence without the syllable that negates its first word."""
    found = [each.end() for each in _NEGATED.finditer(text) if len(text) - each.end() > 40]
    return text[chance.choice(found) :] if found else ""


def _hide_words(text: str, chance: random.Random) -> str:
    """An ellipsis in place of one to four words."""
    words = list(_INNER.finditer(text))
    if len(words) < 8 or "..." in text or "\u2026" in text:
        return ""
    first = chance.randrange(1, len(words) - 5)
    last = first + chance.randint(0, 3)
    mark = chance.choice(("\u2026", "...", "[...]", "[\u2026]", ". . ."))
    return f"{text[: words[first].start()]}{mark}{text[words[last].end() :]}"


ALTERATIONS: Mapping[str, Change] = {
    "digit": _other_digit,
    "decimal point": _other_point,
    "unit": _other_unit,
    "not in": _insert("not"),
    "not out": _leave_out(_NEGATION),
    "only in": _insert("only"),
    "only out": _leave_out(_ONLY),
    "word out": _leave_out(re.compile(r"\s[^\W\d_]{2,}(?=\s)")),
    "words exchanged": _exchange_words,
    "begins in a number": _cut_number,
    "ends in a number": _end_in_number,
    "begins in a word": _cut_word,
    "ellipsis": _hide_words,
}
# A part of the text: what is wrong is where it begins or ends.
_CUTS = frozenset({"begins in a number", "ends in a number", "begins in a word", "ellipsis"})


# --- true quotes as readers copy them


def indexed_sentences(settings: Settings, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences whose words the index has, as another program reads its texts."""
    backends = open_backends(settings, wait_for_model=True)
    try:
        documents = {each.uri: each.id for each in backends.catalogue.documents(settings.project)}
        words: dict[str, str] = {}
        for file in {each.file for each in sentences}:
            id = documents.get(uri_of(list(documents), file), "")
            words[file] = _words(plain_text(file, backends.catalogue.text(id, settings.project) or ""))
    finally:
        backends.close()
    return [each for each in sentences if _words(each.text) in words[each.file]]


def _words(text: str) -> str:
    """The words of a text, with a blank around each."""
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", _DIVIDED.sub("", text)))
    return f" {' '.join(words)} "


def copy(sentences: Sequence[Sentence], chance: random.Random, count: int) -> Iterator[Quote]:
    """``count`` true quotes, of each kind of copy as many where there are enough."""
    made, rest = 0, iter(sentences)
    while made < count and (each := next(rest, None)) is not None:
        possible = [kind for kind, change in COPIES.items() if change(each.text, random.Random(0)) != each.text]
        if possible:
            kind = chance.choice(possible)
            made += 1
            yield Quote(kind, replace(each, text=COPIES[kind](each.text, chance)), each.text)


def _other_space(text: str, chance: random.Random) -> str:
    return re.sub(r"\s+", lambda _: chance.choice((" ", " ", " ", "  ", "\n", "\n    ", "\u00a0", "\t")), text)


def _one_line(text: str, chance: random.Random) -> str:
    return " ".join(text.split())


def _curly(text: str, chance: random.Random) -> str:
    """Curly marks for straight ones, or straight ones for curly ones."""
    if re.search(r"[\u2018\u2019\u201c\u201d]", text):
        return text.translate(str.maketrans("\u2018\u2019\u201c\u201d", "''\"\""))
    text = re.sub(r"(?<!\S)\"", "\u201c", text).replace('"', "\u201d")
    return re.sub(r"(?<!\S)'", "\u2018", text).replace("'", "\u2019")


def _ligatures(text: str, chance: random.Random) -> str:
    """Letters for ligatures, or ligatures for letters."""
    if re.search("[\ufb00-\ufb04]", text):
        return re.sub("[\ufb00-\ufb04]", lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return re.sub("ffi|ffl|ff|fi|fl", lambda found: _LIGATURES[found[0]], text)


def _divide(text: str, chance: random.Random) -> str:
    """A word divided at the end of a line."""
    word = re.compile(r"(?<=\s)[a-z]{7,}(?=[\s,.])")

    def divided(old: str) -> str:
        at = chance.randrange(3, len(old) - 2)
        return f"{old[:at]}-\n{old[at:]}"

    return _replace_one(word, text, chance, divided) or text


def _join(text: str, chance: random.Random) -> str:
    """Words that were divided at the end of a line, joined."""
    return _DIVIDED.sub("", text)


def _dashes(text: str, chance: random.Random) -> str:
    """Other dashes between words."""
    return re.sub(
        r"(?<=\s)(?:--|[-\u2013\u2014])(?=\s)", lambda _: chance.choice(("\u2013", "\u2014", "--")), text
    )


COPIES: Mapping[str, Change] = {
    "other white space": _other_space,
    "one line": _one_line,
    "quotation marks": _curly,
    "ligatures": _ligatures,
    "divided words": _divide,
    "joined words": _join,
    "dashes": _dashes,
}


# --- checks


def check(settings: Settings, quotes: Sequence[Quote]) -> list[Outcome]:
    """What becomes of each quote, in the order of their files."""
    ordered = sorted(quotes, key=lambda each: each.sentence.file)
    uris, statuses = asyncio.run(_audit_all(settings, ordered))
    backends = open_backends(settings, wait_for_model=True)
    try:
        index = CurrentIndex(backends.catalogue, Filters(settings.project))
        return [
            Outcome(quote, status, "" if quote.kind == "page" else _evidence_status(quote, index, uri))
            for quote, uri, status in zip(ordered, uris, statuses, strict=True)
        ]
    finally:
        backends.close()


async def _audit_all(settings: Settings, quotes: Sequence[Quote]) -> tuple[list[str], list[str]]:
    """The uri of the document of each quote, and the status by the check of citations."""
    kb = make_knowledge_base(settings, wait_for_model=True)
    try:
        await kb.open()
        known = await list_uris(kb)
        by_file = {file: uri_of(known, file) for file in {each.sentence.file for each in quotes}}
        uris = [by_file[each.sentence.file] for each in quotes]
        statuses: list[str] = []
        for at in range(0, len(quotes), _BATCH):
            some = [each.sentence for each in quotes[at : at + _BATCH]]
            statuses += [row["status"] for row in await audit(kb, some, uris[at : at + _BATCH])]
        return uris, statuses
    finally:
        await kb.aclose()


def _evidence_status(quote: Quote, index: CurrentIndex, uri: str) -> str:
    """The status of the quote as evidence of a claim that says what its sentence says."""
    evidence = Evidence(document=uri, quote=quote.sentence.text)
    claim = Claim(id="000000000000.1", text=" ".join(quote.made_of.split())[:CLAIM_CHARS], evidence=(evidence,))
    return check_claim(claim, index, 1.0).evidence[0].status


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app()
