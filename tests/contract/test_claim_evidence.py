"""Evidence of claims against a real index: quotes that stand, moved, changed or gone, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ingesting import ingest_paths
from tests.placed_documents import DOCUMENTS, index_placed_documents
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.claims.friction import claim_friction
from winnow.server.claims.life_cycle import update_friction
from winnow.server.claims.records import Claim, ClaimVerdict, Comparison, Entry, Evidence
from winnow.server.claims.store import Notebook, View
from winnow.server.claims.verifying import (
    CheckedEvidence,
    CurrentIndex,
    check_claim,
    check_entry,
    check_evidence,
    is_settled,
)
from winnow.server.jobs.target import target_of
from winnow.server.models import Filters
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

QUOTE = "Backups are kept for ninety days on a second machine."
TEXT = f"# Backups\n\nThe machine encrypts its backups.\n\n{QUOTE} They are never deleted earlier.\n"


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of files and a store over it."""

    folder: Path
    settings: Settings
    backends: Backends

    def ingest(self) -> CurrentIndex:
        ingest_paths(target_of(self.settings, self.backends, None), [self.folder])
        return self.index()

    def index(self, **scope: str) -> CurrentIndex:
        return CurrentIndex(self.backends.catalogue, Filters(self.settings.project, **scope))  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "backups.md").write_text(TEXT, "utf-8")
    (folder / "other.md").write_text("# Other\n\nThe gateway listens on port 8443 by default.\n", "utf-8")
    settings = load_settings(store=tmp_path / "store", embedding="off", graph="off")
    backends = open_backends(settings, wait_for_model=False)
    yield Store(folder, settings, backends)
    backends.close()


def check(index: CurrentIndex, quote: str = QUOTE, **fields: object) -> CheckedEvidence:
    return check_evidence(Evidence(quote=quote, **{"document": "backups.md", **fields}), index, 1.0)  # type: ignore[arg-type]


def test_status_follows_a_document_that_is_edited_renamed_and_deleted(store: Store) -> None:
    """One ingest each time: offsets, document and digest are those of now."""
    index = store.ingest()
    first = check(index).evidence
    assert (first.status, TEXT[first.start or 0 : first.end or 0]) == ("verified", QUOTE.rstrip("."))
    assert index.passage(first.passage_id) is not None
    assert is_settled(first, index)

    (store.folder / "backups.md").write_text(TEXT.replace("# Backups", "# Backups\n\nA new beginning."), "utf-8")
    index = store.ingest()
    assert not is_settled(first, index)
    second = check_evidence(first, index, 2.0).evidence
    assert (second.status, second.start, second.checked_at) == ("verified", (first.start or 0) + 18, 2.0)

    (store.folder / "backups.md").rename(store.folder / "archive.md")
    index = store.ingest()
    third = check_evidence(second, index, 3.0).evidence
    assert (third.status, third.document, third.start) == ("verified", "archive.md", second.start)
    assert third.document_id != second.document_id

    (store.folder / "archive.md").write_text(TEXT.replace("ninety", "sixty"), "utf-8")
    drifted = check_evidence(third, store.ingest(), 4.0)
    assert (drifted.evidence.status, drifted.evidence.start, drifted.evidence.locator) == ("drifted", None, "")
    assert "which says: Backups are kept for sixty days on a second machine" in drifted.note

    (store.folder / "archive.md").write_text(TEXT, "utf-8")
    again = check_evidence(drifted.evidence, store.ingest(), 5.0).evidence
    assert (again.status, again.start) == ("verified", first.start)

    (store.folder / "archive.md").unlink()
    gone = check_evidence(again, store.ingest(), 6.0)
    assert (gone.evidence.status, gone.note) == ("missing", "its document is not in the index: archive.md")


def _rename(store: Store, name: str, text: str) -> CurrentIndex:
    (store.folder / "backups.md").unlink(missing_ok=True)
    (store.folder / name).write_text(text, "utf-8")
    return store.ingest()


EDITED = TEXT.replace("encrypts", "compresses")


def test_a_document_that_is_renamed_and_edited_at_once_keeps_its_quotes_and_a_note_says_so(store: Store) -> None:
    first = check(store.ingest()).evidence
    index = _rename(store, "archive.md", EDITED)
    found = check_evidence(first, index, 2.0)
    assert (found.evidence.status, found.evidence.document) == ("verified", "archive.md")
    assert found.note.startswith("backups.md is gone: the quote ")
    assert "stands in archive.md" in found.note
    assert check_evidence(found.evidence, index, 3.0).evidence.digest == found.evidence.digest


@pytest.mark.parametrize(
    ("names", "text", "quote"),
    [
        (("archive.md", "copy.md"), EDITED, QUOTE),
        (("archive.txt",), EDITED, QUOTE),
        (("archive.md",), f"{EDITED}\n{'More of it. ' * 10}", QUOTE),
        (("archive.md",), EDITED.replace("ninety", "sixty"), QUOTE),
        (("archive.md",), EDITED, "Backups are kept"),
        (("archive.md",), EDITED, "Backups are kept … on a second machine."),
    ],
    ids=["two that have it", "another ending", "another length", "another text", "few words", "elided"],
)
def test_no_other_document_is_taken_for_one_that_is_gone(
    store: Store, names: tuple[str, ...], text: str, quote: str
) -> None:
    first = check(store.ingest(), quote).evidence
    assert first.status in ("verified", "elided")
    for name in names:
        index = _rename(store, name, text)
    assert check_evidence(first, index, 2.0).evidence.status == "missing"


@pytest.mark.parametrize("digest", ["", "x", "a.1e9.b", "a.\u00b2.b", f"a.{'9' * 120}.b", "..", "a.-1.b", "a.0.b"])
def test_a_digest_that_was_made_up_finds_no_document(store: Store, digest: str) -> None:
    index = store.ingest()
    found = check(index, document="gone.md", digest=digest)
    assert found.evidence.status == "missing"


def test_a_quote_that_is_altered_drifts_and_one_that_is_invented_is_missing(store: Store) -> None:
    index = store.ingest()
    assert check(index, QUOTE.replace("ninety", "sixty")).evidence.status == "drifted"
    assert check(index, QUOTE.replace("are kept", "are not kept")).evidence.status == "drifted"
    assert check(index, "The moon is made of green cheese and honey.").evidence.status == "missing"
    assert check(index, document="nowhere.md").evidence.status == "missing"
    assert check(index, document="").note == "its document is not in the index: which is not named"


def test_a_claim_gets_the_warnings_of_its_quotes_and_of_its_words(store: Store) -> None:
    index = store.ingest()
    evidence = (
        Evidence(document="backups.md", quote=QUOTE),
        Evidence(document="other.md", quote="The gateway listens on port 9443", stance="mentions"),
    )
    claim = Claim(id="aaaaaaaaaaaa.1", text="Backups are not kept 30 days.", evidence=evidence)
    found = check_claim(claim, index, 1.0)
    assert [each.status for each in found.evidence] == ["verified", "drifted"]
    drifted, number, negation = found.warnings
    assert drifted.startswith(
        'the quote "The gateway listens on port 9443" is not in the text read from other.md, which says: The '
    )
    assert (number, negation) == (
        'the claim says "30 days", which the quote does not',
        'the claim negates "kept…", the quote does not',
    )


@pytest.mark.parametrize(
    ("quote", "in_full"),
    [
        ("Backups are … on a second machine.", QUOTE.rstrip(".")),
        ("Backups are kept [...] on a second machine", QUOTE.rstrip(".")),
        ("… kept for ninety days on a second machine …", ""),
    ],
)
def test_a_quote_that_leaves_text_out_shows_it_and_does_not_count(store: Store, quote: str, in_full: str) -> None:
    """What is left out may be a negation, a number or an exception: the author of a quote can give it whole."""
    index = store.ingest()
    text = "Backups are kept on a second machine."
    claim = Claim(id="aaaaaaaaaaaa.1", text=text, evidence=(Evidence(document="backups.md", quote=quote),))
    found = check_claim(claim, index, 1.0)
    (evidence,) = found.evidence
    assert (evidence.status, evidence.in_full) == ("elided" if in_full else "verified", in_full)
    assert any("leaves out text, so it does not count" in each for each in found.warnings) == bool(in_full)
    assert claim_friction(found).supports == (0 if in_full else 1)


@pytest.mark.parametrize(
    ("text", "quote", "status"),
    [
        ("Backups are kept for ninety days.", "of", "missing"),
        ("Backups are kept for ninety days.", "kept", "weak"),
        ("Backups are kept for ninety days.", "are kept for", "weak"),
        ("Backups are kept for ninety days.", "kept for ninety days", "verified"),
        ("The gateway is closed at ten.", "kept for ninety days", "weak"),
        ("The backup is not deleted.", "They are never deleted earlier", "verified"),
        ("Sicherungen werden aufbewahrt.", "kept for ninety days", "verified"),  # another language: not compared
    ],
)
def test_a_quote_of_fewer_than_four_words_or_about_something_else_does_not_count(
    store: Store, text: str, quote: str, status: str
) -> None:
    evidence = (Evidence(document="backups.md", quote=quote),)
    found = check_claim(Claim(id="aaaaaaaaaaaa.1", text=text, evidence=evidence), store.ingest(), 1.0)
    assert found.evidence[0].status == status
    assert claim_friction(found).supports == (status == "verified")


@pytest.mark.parametrize(
    ("text", "quote", "status"),
    [
        ("Backups are kept for ninety days.", "Backups are kept … on a second machine.", "elided"),
        ("Backups are kept for ninety days.", "are kept for", "weak"),
        ("The gateway is closed at ten.", QUOTE, "weak"),
        ("Port 3 is that of the gateway.", "3 by default, says the gateway of the yard", "missing"),
        ("Backups are kept for ninety days.", QUOTE, "verified"),
    ],
)
def test_what_an_earlier_version_verified_is_looked_for_by_the_rules_of_now(
    store: Store, text: str, quote: str, status: str
) -> None:
    """The document has not changed since; the rules by which a quote stands there and counts have."""
    index = store.ingest()
    now = check(index).evidence
    earlier = now.model_copy(update={"quote": quote, "digest": now.digest.rpartition(".")[0]})
    claim = Claim(id="aaaaaaaaaaaa.1", text=text, evidence=(earlier,))
    entry = Entry(id="aaaaaaaaaaaa", project="default", topic="backups", claims=(claim,))
    assert (earlier.status, is_settled(now, index), is_settled(earlier, index)) == ("verified", True, False)
    assert check_entry(entry, index, 2.0).claims[0].evidence[0].status == status


def test_evidence_that_stands_in_an_unchanged_document_is_not_looked_at_again(store: Store) -> None:
    claim = Claim(
        id="aaaaaaaaaaaa.1", text="Backups are kept.", evidence=(Evidence(document="backups.md", quote=QUOTE),)
    )
    entry = Entry(id="aaaaaaaaaaaa", project="default", topic="backups", claims=(claim,))
    checked = check_entry(entry, store.ingest(), 1.0)
    assert checked.claims[0].evidence[0].checked_at == 1.0
    assert check_entry(checked, store.index(), 2.0) is checked
    (store.folder / "backups.md").write_text(f"{TEXT}\nMore.\n", "utf-8")
    assert check_entry(checked, store.ingest(), 3.0).claims[0].evidence[0].checked_at == 3.0


def test_an_ingest_looks_for_the_quotes_of_all_notebooks_of_its_project_again(store: Store) -> None:
    """Status, friction and standing follow within one ingest, which says how many quotes stand nowhere now."""
    index = store.ingest()
    claims, notebook = store.backends.claims.store, Notebook(store.settings.project, "a key")
    evidence = Evidence(document="backups.md", quote=QUOTE)
    claim = Claim(id="aaaaaaaaaaaa.1", text="Backups are kept ninety days.", evidence=(evidence,))
    other = Claim(
        id="bbbbbbbbbbbb.1",
        text="The gateway listens on port 8443.",
        evidence=(Evidence(document="other.md", quote="The gateway listens on port 8443 by default."),),
    )
    for written in (claim, other):
        entry = Entry(id=written.id[:12], project=notebook.project, topic="backups", claims=(written,))
        claims.add(notebook, check_entry(entry, index, 1.0))
    claims.judge(
        notebook, [ClaimVerdict(claim_id=claim.id, other_id=other.id, judgement="contradicts", created_at=1.0)]
    )
    both = Comparison(entry_id="aaaaaaaaaaaa", other_id="bbbbbbbbbbbb", entropy=0.5)
    claims.compare("aaaaaaaaaaaa", [both])
    update_friction(claims, ["aaaaaaaaaaaa", "bbbbbbbbbbbb"])

    def read() -> list[tuple[str, float]]:
        found = claims.read(View(notebook, sees_all=True), ["aaaaaaaaaaaa", "bbbbbbbbbbbb"])
        return [(found[id].claims[0].evidence[0].status, found[id].friction) for id in sorted(found)]

    target = target_of(store.settings, store.backends, None)
    assert read() == [("verified", 1.0), ("verified", 1.0)]
    (store.folder / "backups.md").write_text(TEXT.replace("ninety", "sixty"), "utf-8")
    report = ingest_paths(target, [store.folder])
    assert read() == [("drifted", 0.0), ("verified", 0.0)]
    assert report.warnings == (
        "quotes of claims that do not stand in their documents now: 1 (altered: 1, gone: 0); winnow claims check "
        "names them",
    )
    assert ingest_paths(target, [store.folder]).warnings == ()
    (store.folder / "backups.md").write_text(TEXT, "utf-8")
    assert ingest_paths(target, [store.folder]).warnings == ()
    assert read() == [("verified", 1.0), ("verified", 1.0)]
    (store.folder / "backups.md").rename(store.folder / "moved.md")
    assert ingest_paths(target, [store.folder]).warnings == ()
    assert read() == [("verified", 1.0), ("verified", 1.0)]
    (store.folder / "moved.md").unlink()
    (gone,) = ingest_paths(target, [store.folder]).warnings
    assert "now: 1 (altered: 0, gone: 1)" in gone
    assert read() == [("missing", 0.0), ("verified", 0.0)]


def test_what_is_out_of_scope_is_not_in_the_index(store: Store) -> None:
    """A quote must not tell whether a document that its author may not read contains it."""
    seen = check(store.ingest()).evidence
    within = store.index(environment="prod")
    for evidence in (
        seen,
        Evidence(document="backups.md", quote=QUOTE),
        Evidence(passage_id=seen.passage_id, quote=QUOTE),
    ):
        found = check_evidence(evidence, within, 2.0)
        assert (found.evidence.status, found.note[:33]) == ("missing", "its document is not in the index:")


def test_a_quote_over_a_page_break_stands_on_both_pages(tmp_path: Path) -> None:
    """Its locator has the printed and the file's pages as a range, and naming either page is right."""
    settings, _ = index_placed_documents(tmp_path)
    backends = open_backends(settings, wait_for_model=False)
    try:
        index = CurrentIndex(backends.catalogue, Filters(settings.project))
        quote = "by the crew of the yard. Part guide47 Valve guide47 opens at 47 bar."
        for page in (0, 46, 47):
            found = check(index, quote, document="guide.pdf", page=page)
            place = found.evidence.page, found.evidence.locator
            assert (found.evidence.status, place) == ("verified", (46, "pp. 34-35 (file pages 46-47)"))
            assert found.note == ""
        wrong = check(index, quote, document="guide.pdf", page=48)
        assert wrong.note.endswith("is not in file page 48: it stands in pp. 34-35 (file pages 46-47)")
    finally:
        backends.close()


def test_a_page_is_that_where_the_quote_stands(tmp_path: Path) -> None:
    """A quote of the named page has its locator; one of another page is said to stand there."""
    settings, _ = index_placed_documents(tmp_path)
    backends = open_backends(settings, wait_for_model=False)
    try:
        index = CurrentIndex(backends.catalogue, Filters(settings.project))
        quote = "Valve guide47 opens at 47 bar."
        right = check(index, quote, document="guide.pdf", page=47)
        assert (right.evidence.page, right.evidence.locator, right.note) == (47, "p. 35 (file page 47)", "")
        wrong = check(index, quote, document="guide.pdf", page=46)
        assert (wrong.evidence.status, wrong.evidence.page) == ("verified", 47)
        assert wrong.note == f'the quote "{quote}" is not in file page 46: it stands in p. 35 (file page 47)'
        guide = index.document("guide.pdf")
        assert guide is not None
        passage = index.passage_at(guide, DOCUMENTS["guide.pdf"].text.index("Valve guide48"))
        elsewhere = check(index, quote, document="", passage_id=passage)
        assert (
            elsewhere.note == f'the quote "{quote}" is not in the named passage: it stands in p. 35 (file page 47)'
        )
    finally:
        backends.close()
