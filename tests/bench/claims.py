"""Evidence of claims: whether true quotes verify, and altered ones do not or are warned of.

    python -m tests.bench.claims typeset/ docs/ --quotes 500 --json claims.json

Each folder is ingested into a store of its own. Quotes are sentences of papers with their truth (see
``tests.bench.pdf_truth``) where a folder has such papers, otherwise of its documents' own texts, with white space
as an agent would write it. As many quotes are left as they are, and altered: a word, a number or a negation of the
quote, the place that it is said to stand in, and, with a true quote, the claim's number, negation or word. A claim
says what its quote says. Noticed is what is not verified, or verified with a warning.

The word of a claim is altered to show what is not noticed: only numbers, dates, units and negations are compared.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tests.bench.command_line import command_line
from tests.bench.pdf_truth import papers
from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.claims.records import CLAIM_CHARS, Claim, Evidence
from winnow.server.claims.verifying import CurrentIndex, check_claim
from winnow.server.commands.terminal.output import print_lines, report_errors
from winnow.server.errors import WinnowError
from winnow.server.jobs.target import target_of
from winnow.server.models import Filters
from winnow.server.settings.loading import load_settings

EXAMPLES = (
    "Examples: python -m tests.bench.claims typeset/ | "
    "python -m tests.bench.claims typeset/ docs/ --quotes 100 --json claims.json"
)
_SENTENCE = re.compile(r"(?<![^\s])[A-Z][a-z][^.!?|#`<>\[\]*\n]{40,200}[.!?](?=\s|\Z)")
_WORD = re.compile(r"\b[a-z]{6,14}\b")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?![\w.,]|\.\d)")
_VERB = re.compile(r"\b(?:is|are|was|were|can|will|has|have|should|may|must)\b(?! not)")
_NEGATION = re.compile(r"(?<= )not ")

Alteration = Callable[[str, random.Random, Sequence[str]], str]


@dataclass(frozen=True, slots=True)
class Sample:
    """A sentence of a document."""

    uri: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Row:
    """What became of quotes of one kind; ``warned`` are verified ones with a warning."""

    kind: str
    quotes: int
    verified: int
    warned: int
    drifted: int
    missing: int

    @property
    def noticed(self) -> int:
        """Those that are not verified, or warned of."""
        return self.quotes - self.verified + self.warned


def run(
    folders: Annotated[list[Path], typer.Argument(help="documents, or papers with their truth")],
    quotes: Annotated[int, typer.Option("--quotes", min=1, max=10_000, help="true and altered ones each")] = 500,
    seed: Annotated[int, typer.Option("--seed", help="chooses the quotes")] = 1,
    as_json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write the figures there")] = None,
) -> None:
    """Verify true and altered quotes of documents."""
    facts = {}
    with report_errors(as_json=False):
        for folder in folders:
            with tempfile.TemporaryDirectory() as store:
                rows, seconds = measure(folder, Path(store), quotes, seed)
            print_lines(f"{folder.name}: {seconds * 1000:.1f} ms a claim", *_table(rows), "")
            facts[folder.name] = {
                "ms_a_claim": round(seconds * 1000, 2),
                "rows": [{name: getattr(row, name) for name in (*Row.__slots__, "noticed")} for row in rows],
            }
    if as_json:
        as_json.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


def measure(folder: Path, store: Path, count: int, seed: int) -> tuple[list[Row], float]:
    """Ingest a folder into ``store`` and check ``count`` true quotes and as many altered ones; seconds a claim."""
    settings = load_settings(store=store, embedding="off", graph="off")
    backends = open_backends(settings, wait_for_model=False)
    try:
        ingest_paths(target_of(settings, backends, None), [folder])
        index = CurrentIndex(backends.catalogue, Filters(settings.project))
        choice = random.Random(seed)
        documents = backends.catalogue.documents(settings.project)
        samples = _samples_of_papers(folder) or [
            Sample(document.uri, sentence)
            for document in documents
            for sentence in _sentences(backends.catalogue.text(document.id, settings.project) or "")
        ]
        if not samples:
            raise WinnowError("INVALID_REQUEST", f"{folder} has no document with sentences")
        choice.shuffle(samples)
        elsewhere = {
            document.uri: backends.catalogue.chunks(document.id, settings.project) for document in documents
        }
        began = time.monotonic()
        rows = list(_check_all(samples, index, count, choice, elsewhere))
        return rows, (time.monotonic() - began) / sum(row.quotes for row in rows)
    finally:
        backends.close()


def _samples_of_papers(folder: Path) -> list[Sample]:
    """The sentences of the papers of a folder that have a truth."""
    return [
        Sample(paper.path.name, sentence)
        for paper in papers(folder)
        for text in paper.texts("p")
        for sentence in _sentences(text)
    ]


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text, without markup and short enough for a claim."""
    for found in _SENTENCE.findall(text):
        if len(sentence := " ".join(found.split())) <= CLAIM_CHARS:
            yield sentence


def _check_all(
    samples: Sequence[Sample],
    index: CurrentIndex,
    count: int,
    choice: random.Random,
    chunks: Mapping[str, Sequence[Any]],
) -> Iterator[Row]:
    words = [word for sample in samples for word in _WORD.findall(sample.sentence)]
    yield _row("true quote", [_claim(sample, sample.sentence) for sample in samples[:count]], index)
    for name, alter in ALTERATIONS.items():
        changed = _altered(samples, alter, choice, words, count // (len(ALTERATIONS) + 1))
        yield _row(f"quote and claim: {name}", [_claim(sample, text, text) for sample, text in changed], index)
    yield _row("another place", list(_misplaced(samples, chunks, choice, count // (len(ALTERATIONS) + 1))), index)
    for name, alter in ALTERATIONS.items():
        changed = _altered(samples, alter, choice, words, count // (len(ALTERATIONS) + 1))
        yield _row(f"claim alone: {name}", [_claim(sample, text) for sample, text in changed], index)


def _claim(sample: Sample, text: str, quote: str = "", passage: str = "") -> Claim:
    evidence = Evidence(document=sample.uri, quote=quote or sample.sentence, passage_id=passage)
    return Claim(id="000000000000.1", text=text, evidence=(evidence,))


def _altered(
    samples: Sequence[Sample], alter: Alteration, choice: random.Random, words: Sequence[str], count: int
) -> list[tuple[Sample, str]]:
    """The first ``count`` samples that this alteration changes, and what it makes of them."""
    changed: list[tuple[Sample, str]] = []
    for sample in samples:
        text = alter(sample.sentence, choice, words)[:CLAIM_CHARS]
        if text != sample.sentence:
            changed.append((sample, text))
        if len(changed) == count:
            break
    return changed


def _misplaced(
    samples: Sequence[Sample], chunks: Mapping[str, Sequence[Any]], choice: random.Random, count: int
) -> Iterator[Claim]:
    """True quotes that name a passage of their document which does not have them."""
    found = 0
    for sample in samples:
        others = [chunk.id for chunk in chunks[sample.uri] if sample.sentence not in " ".join(chunk.text.split())]
        apart = [id for id in others if len(chunks[sample.uri]) > 2]  # the sentence may be in two that adjoin
        if apart and found < count:
            found += 1
            yield _claim(sample, sample.sentence, passage=choice.choice(apart))


def _row(kind: str, claims: Sequence[Claim], index: CurrentIndex) -> Row:
    checked = [check_claim(claim, index, 1.0) for claim in claims]
    statuses = Counter(claim.evidence[0].status for claim in checked)
    warned = sum(claim.evidence[0].status == "verified" and bool(claim.warnings) for claim in checked)
    return Row(kind, len(claims), statuses["verified"], warned, statuses["drifted"], statuses["missing"])


def _table(rows: Sequence[Row]) -> Iterator[str]:
    yield f"{'':<28}{'quotes':>8}{'verified':>10}{'warned':>8}{'drifted':>9}{'missing':>9}{'noticed':>9}"
    for row in rows:
        counts = f"{row.quotes:>8}{row.verified:>10}{row.warned:>8}{row.drifted:>9}{row.missing:>9}"
        yield f"{row.kind:<28}{counts}{row.noticed / max(1, row.quotes):>9.1%}"


def _alter_word(sentence: str, choice: random.Random, words: Sequence[str]) -> str:
    """Another word of the collection in place of one."""
    found = list(_WORD.finditer(sentence))
    if not found:
        return sentence
    match, other = choice.choice(found), choice.choice(words)
    return f"{sentence[: match.start()]}{other}{sentence[match.end() :]}"


def _alter_number(sentence: str, choice: random.Random, words: Sequence[str]) -> str:
    """A larger number in place of one."""
    found = list(_NUMBER.finditer(sentence))
    if not found:
        return sentence
    match = choice.choice(found)
    return f"{sentence[: match.start()]}{int(match[0]) + choice.randint(1, 99)}{sentence[match.end() :]}"


def _alter_negation(sentence: str, choice: random.Random, words: Sequence[str]) -> str:
    """Without its "not", or with one behind its first verb."""
    if _NEGATION.search(sentence):
        return _NEGATION.sub("", sentence, count=1)
    return _VERB.sub(lambda match: f"{match[0]} not", sentence, count=1)


ALTERATIONS: Mapping[str, Alteration] = {"word": _alter_word, "number": _alter_number, "negation": _alter_negation}

app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app()
