"""Extractions come back from the file as they were, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.graphs import extract
from winnow.server.ingest import kept_extractions
from winnow.server.ingest.kept_extractions import KeptExtractions
from winnow.server.readers.extraction.document_extraction import DocumentExtraction
from winnow.server.readers.extraction.encoding import (
    decode_extraction,
    decode_facts,
    encode_extraction,
    encode_facts,
)
from winnow.server.readers.extraction.gazetteer import parse_gazetteer
from winnow.server.readers.extraction.resolution import facts_of

OWN = parse_gazetteer('[[entity]]\nname = "Ten Requests"\ntype = "limit"\naliases = ["10 requests"]\n')
FILES = {
    "guide.md": (
        "---\ntitle: Alpha Gateway\ntags: [net, gateway]\naliases: [AG]\nrelated: ['[[Beta#Limits]]']\n---\n"
        "# Alpha Gateway\n\n## Limits\n\nThe Access Control List (ACL) of Jane Doe takes 10 requests; see "
        "[the server](server.md#limits), [above](#limits), [[Gamma Ray|rays]] and `read_file()`.\n\n"
        "| a | b |\n| --- | --- |\n| Ünïcode “名前” | \U0001f600 |\n"
    ),
    "client.py": "import json\n\n\nclass Client:\n    def ask(self) -> str:\n        return json.dumps(fetch())\n",
    "guide.rst": "Guide\n=====\n\nSee :class:`json.JSONEncoder` and :doc:`client`.\n",
    "empty.txt": "",
}


@pytest.fixture(params=FILES)
def extraction(request: pytest.FixtureRequest) -> DocumentExtraction:
    return extract(request.param, FILES[request.param], OWN)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[KeptExtractions]:
    return KeptExtractions(tmp_path)


def test_the_examples_have_records_of_every_kind() -> None:
    found = [extract(name, text, OWN) for name, text in FILES.items()]
    names = ("nodes", "edges", "entities", "mentions", "relations", "references", "votes", "dependencies")
    assert all(any(getattr(each, name) for each in found) for name in names)


def test_an_extraction_is_decoded_as_it_was(extraction: DocumentExtraction) -> None:
    facts = decode_facts(encode_facts(facts_of(extraction)))
    decoded = decode_extraction(encode_extraction(extraction), facts)
    assert (facts, decoded) == (facts_of(extraction), extraction)
    assert list(decoded.entities) == list(extraction.entities)


def test_what_is_kept_is_returned_for_its_stamp_alone(kept: KeptExtractions) -> None:
    found = [extract(name, text) for name, text in FILES.items()]
    for number, one in enumerate(found):
        kept.put(f"1:{number}", one)
    for number, one in enumerate(found):
        assert kept.extraction(one.page.id, f"1:{number}") == one
        assert kept.facts(one.page.id, f"1:{number}") == facts_of(one)
        assert (kept.extraction(one.page.id, "2:"), kept.facts(one.page.id, "2:")) == (None, None)
    assert (kept.extraction("another", ""), kept.facts("another", "")) == (None, None)


def test_of_two_extractions_of_a_document_the_later_is_kept(kept: KeptExtractions) -> None:
    former, later = extract("guide.md", FILES["guide.md"]), extract("guide.md", "# Short")
    kept.put("1", former)
    kept.put("2", later)
    assert (kept.extraction(former.page.id, "1"), kept.extraction(later.page.id, "2")) == (None, later)


def test_the_file_has_no_name_that_a_killed_process_would_leave_behind(
    kept: KeptExtractions, tmp_path: Path, extraction: DocumentExtraction
) -> None:
    kept.put("1", extraction)
    assert kept.extraction(extraction.page.id, "1") == extraction
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_nothing_is_no_error(tmp_path: Path, extraction: DocumentExtraction) -> None:
    kept = KeptExtractions(tmp_path / "missing")
    kept.put("1", extraction)
    assert (kept.extraction(extraction.page.id, "1"), kept.facts(extraction.page.id, "1")) == (None, None)


def test_beyond_the_limit_of_the_file_nothing_more_is_kept(
    kept: KeptExtractions, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = extract("small.md", "# Small"), extract("guide.md", FILES["guide.md"])
    monkeypatch.setattr(kept_extractions, "_MOST_BYTES", 500)
    for one in (small, large):
        kept.put("1", one)
    assert (kept.extraction(small.page.id, "1"), kept.extraction(large.page.id, "1")) == (small, None)
