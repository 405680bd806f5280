"""A store whose server sees a part of the documents, for the attacks of the family ``documents``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from winnow.security.surface import ALONE, winnow

PAGE = (
    "---\nenvironment: {environment}\nvendor: {vendor}\n{field}: {value}\n---\n# {title}\n\n"
    "The lantern of this page burns until the morning, and {title} says so in words that are long enough.\n"
)
SEEN = {"environment": "prod", "vendor": "acme", "field": "stage", "value": "beta", "title": "Open lantern"}
# Every name of the document outside contains the word.
WORD = "hidden"
HIDDEN = {
    "environment": "dev",
    "vendor": "hiddenvendor",
    "field": "hiddenfield",
    "value": "hiddenvalue",
    "title": "Hidden lantern",
}
PAGES = {"guide/open.md": SEEN, "hiddenfolder/hidden_page.md": HIDDEN}
_CONFINED = {**ALONE, "WINNOW_ENVIRONMENT": "prod"}


def ingest_pages(pages: Mapping[str, Mapping[str, str]] = PAGES) -> None:
    """Write these pages by path, and ingest them into ``store``. Raises if that fails."""
    for path, facts in pages.items():
        file = Path("documents", path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PAGE.format(**facts), "utf-8")
    answer = winnow("ingest", "documents", "--store", "store")
    if answer.returncode:
        raise RuntimeError(answer.stderr.decode())


def answers(command: str, *arguments: str) -> str:
    """All that a command says which is confined to the environment prod: answer, warnings and errors."""
    done = winnow(command, "--store", "store", "--json", *arguments, environment=_CONFINED)
    return (done.stdout + done.stderr).decode()


def names_hidden(calls: Sequence[Sequence[str]]) -> bool:
    """Whether an answer to one of these calls names the document outside the scope, which no call names itself."""
    ingest_pages()
    said = [answers(*call).casefold() for call in calls]
    if not all("open" in answer or "near" in answer or "there are" in answer for answer in said):
        raise RuntimeError("; ".join(said)[:1_000])
    return any(WORD in answer for answer in said)


def near_names_of_all_files(asked: str) -> bool:
    """Whether the names near ``asked`` among all files, regardless of scope, name the document outside."""
    import difflib

    ingest_pages()
    names = [part for path in Path("documents").rglob("*.md") for part in (path.stem, path.parent.name)]
    return any(WORD in name for name in difflib.get_close_matches(asked, names, cutoff=0.5))
