"""Citations: whether the key, the page and the words of each are those of the paper that it names.

    python -m tests.bench.citations typeset/ --questions 100 --json citations.json

``typeset/`` has papers with their truth (see ``tests.bench.pdf_truth``). A bibliography of them is written, with a
file for each entry, and the papers are ingested with it. Each question is a sentence of the truth without its last
words; the first quote that answers is cited in pandoc's style. A citation is right if its key is that of the paper
with the sentence, every sentence of the quote stands in the truth of that paper, and the quote has the sentence
that was asked for, which begins on the page that is cited, by the text that PDFium has of that page. A quote may
begin with sentences before that one: its page is that of the sentence that answers. The answer's list of keys must
be that of its citations.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tests.bench.command_line import command_line
from tests.bench.pdf_truth import Paper, page_texts, papers
from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.commands.terminal.output import print_lines, report_errors
from winnow.server.errors import WinnowError
from winnow.server.ingest.references.reference_report import ReferenceReport
from winnow.server.jobs.target import target_of
from winnow.server.operations.knowledge import KnowledgeBase
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

EXAMPLES = (
    "Examples: python -m tests.bench.citations typeset/ | "
    "python -m tests.bench.citations typeset/ --questions 30 --json citations.json"
)
_SENTENCE = re.compile(r"[A-Z][^.!?]{60,200}[.!?](?=\s|\Z)")
_CITATION = re.compile(r"\[@(?P<key>\w+), pp?\. (?P<pages>[\d-]+)\]")
# The end of a sentence, which may have the mark of a footnote.
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\d*(?:\s+|\Z)")
_LETTERS = re.compile(r"[^\W_]")
# Words of a sentence that must stand on the page, at its beginning: what follows may be on the next page.
_WORDS_ON_PAGE, _LEFT_OUT = 5, 4


@dataclass(frozen=True, slots=True)
class Question:
    """A sentence of a paper without its last words, and the key of the paper."""

    text: str
    key: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which parts of a citation are right; ``cited`` is the citation, "" for a question without a quote."""

    question: str
    cited: str = ""
    quote: str = ""
    has_key: bool = False
    has_words: bool = False
    has_page: bool = False
    has_closed_list: bool = False

    @property
    def is_right(self) -> bool:
        """Whether all parts are right."""
        return self.has_key and self.has_words and self.has_page and self.has_closed_list


def run(
    typeset: Annotated[Path, typer.Argument(help="papers with their truth")],
    questions: Annotated[int, typer.Option("--questions", min=1, max=10_000, help="how many to ask")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="chooses the questions")] = 1,
    as_json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write the figures there")] = None,
) -> None:
    """Verify citations of typeset papers against their truth."""
    with report_errors(as_json=False):
        known = papers(typeset)
        if not known:
            raise WinnowError("INVALID_REQUEST", f"{typeset} has no paper with its truth beside it")
        with tempfile.TemporaryDirectory() as folder:
            references, verdicts = measure(known, Path(folder), questions, seed)
    wrong = [verdict for verdict in verdicts if not verdict.is_right]
    facts = {
        "papers": len(known),
        "matched": references.matched,
        "questions": len(verdicts),
        "right": sum(verdict.is_right for verdict in verdicts),
        "keys": sum(verdict.has_key for verdict in verdicts),
        "quotes": sum(verdict.has_words for verdict in verdicts),
        "pages": sum(verdict.has_page for verdict in verdicts),
        "wrong": [each.question for each in wrong],
    }
    print_lines(
        f"{facts['right']} of {facts['questions']} citations are right: {facts['keys']} keys, {facts['quotes']} "
        f"quotes, {facts['pages']} pages; {references.matched} of {len(known)} papers matched"
    )
    print_lines(*(f"  {_name_flaws(each)}: {each.question} -> {each.cited} {each.quote}" for each in wrong))
    if as_json:
        as_json.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")


def measure(known: Sequence[Paper], folder: Path, count: int, seed: int) -> tuple[ReferenceReport, list[Verdict]]:
    """Ingest the papers with a bibliography into a store in ``folder``, ask, and verify what is cited."""
    library = folder / "papers"
    library.mkdir()
    for paper in known:
        shutil.copyfile(paper.path, library / paper.path.name)
    bibliography = folder / "library.bib"
    bibliography.write_text("\n".join(_entry(paper) for paper in known), "utf-8")
    settings = load_settings(store=folder / "store", graph="off")
    backends = open_backends(settings, wait_for_model=True)
    try:
        report = ingest_paths(
            target_of(settings, backends, backends.embedder.wait()), [library], references=bibliography
        )
    finally:
        backends.close()
    if report.references is None or report.failures:
        raise WinnowError("INVALID_REQUEST", f"not ingested: {report.failures}")
    return report.references, asyncio.run(_ask_all(settings, known, choose(known, count, seed)))


def _name_flaws(verdict: Verdict) -> str:
    parts = {"key": verdict.has_key, "quote": verdict.has_words, "page": verdict.has_page}
    return "wrong " + ", ".join(name for name, is_right in parts.items() if not is_right)


def _entry(paper: Paper) -> str:
    return (
        f"@article{{{paper.name}, title={{Paper {paper.name}}}, author={{Author of {paper.name}}}, year={{2020}}, "
        f"file={{:papers/{paper.path.name}:PDF}}}}"
    )


def choose(known: Sequence[Paper], count: int, seed: int) -> list[Question]:
    """Sentences that stand in one paragraph of one paper, as many of each paper as there are, or ``count``."""
    found = [
        Question(" ".join(sentence.split()[:-_LEFT_OUT]), paper.name)
        for paper in known
        for text in paper.texts("p")
        for sentence in _SENTENCE.findall(text)
    ]
    texts = {paper.name: squeeze(" ".join(paper.texts("hpf"))) for paper in known}
    alone = [each for each in found if sum(text.count(squeeze(each.text)) for text in texts.values()) == 1]
    return random.Random(seed).sample(alone, min(count, len(alone)))


def squeeze(text: str) -> str:
    """The letters and digits of a text: without what typesetting changes, such as hyphens at the ends of lines."""
    return "".join(_LETTERS.findall(text)).casefold()


async def _ask_all(settings: Settings, known: Sequence[Paper], questions: Sequence[Question]) -> list[Verdict]:
    truth = {paper.name: squeeze(" ".join(paper.texts("hpf"))) for paper in known}
    # PDFium marks a hyphen at the end of a line by the character that is left out.
    pages = {
        paper.name: [squeeze(text.replace("\ufffe", "")) for text in page_texts(paper.path)] for paper in known
    }
    kb = make_knowledge_base(settings, wait_for_model=True)
    try:
        await kb.open()
        return [await _ask(kb, question, truth, pages) for question in questions]
    finally:
        await kb.aclose()


async def _ask(
    kb: KnowledgeBase, question: Question, truth: Mapping[str, str], pages: Mapping[str, Sequence[str]]
) -> Verdict:
    caller = kb.caller("bench")
    asked = {"question": question.text[:1_000], "max_quotes": 1}
    quotes = (await kb.call("kb.retrieve_evidence", asked, caller)).payload["quotes"]
    if not quotes:
        return Verdict(question.text)
    row = {"id": quotes[0]["passage_id"], "page_span": quotes[0].get("page_span")}
    given = {name: value for name, value in row.items() if value is not None}
    answer = (await kb.call("kb.cite", {"rows": [given], "style": "pandoc"}, caller)).payload
    return verify(question, quotes[0]["quote"], answer, truth, pages)


def verify(
    question: Question,
    quote: str,
    answer: Mapping[str, Any],
    truth: Mapping[str, str],
    pages: Mapping[str, Sequence[str]],
) -> Verdict:
    """Which parts of a citation are right."""
    (cited,) = answer["citations"]
    match = _CITATION.fullmatch(cited)
    if match is None:
        return Verdict(question.text, cited, quote)
    words = [squeeze(word) for word in question.text.split()[:_WORDS_ON_PAGE]]
    numbers = [int(number) for number in match["pages"].split("-")]
    first, last = (pages[question.key][numbers[end] - 1] for end in (0, -1))
    return Verdict(
        question.text,
        cited,
        quote,
        has_key=match["key"] == question.key,
        has_words=all(squeeze(part) in truth[question.key] for part in _SENTENCE_ENDS.split(quote)),
        has_page="".join(words) in squeeze(quote) and _begins_on(words, first, last),
        has_closed_list=answer["citekeys"] == [match["key"]],
    )


def _begins_on(words: Sequence[str], first: str, last: str) -> bool:
    """Whether the words stand on the first page, or at its end, and go on on the last one."""
    cuts = range(1, len(words) + 1)
    return any("".join(words[:cut]) in first and "".join(words[cut:]) in last for cut in cuts)


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app()
