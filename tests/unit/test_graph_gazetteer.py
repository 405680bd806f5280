"""The gazetteer: names matched in any case, by alias and by pattern, within a time limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graphs import Corpus
from winnow.server.errors import WinnowError
from winnow.server.readers.extraction.gazetteer import NO_GAZETTEER, parse_gazetteer, read_gazetteer

ROOT = Path(__file__).parents[2]
ENTITIES = r"""
[[entity]]
name = "Acme Gateway"
type = "product"
aliases = ["AGW", "the gateway of Acme", "C++/gate"]
patterns = ['AGW-\d{3}']

[[entity]]
name = "Acme"
type = "vendor"

[[entity]]
name = "東京タワー"
type = "place"

[[pattern]]
type = "ticket"
pattern = '\bOPS-\d+\b'
"""


def test_names_are_found_whole_whatever_their_case_and_the_longest_first() -> None:
    text = (
        "The ACME gateway by acme; acmes and gateway are none. Tickets OPS-1, OPS-22. 行こう東京タワーへ。 AGW-123"
    )
    found, slow = parse_gazetteer(ENTITIES).find(text)
    assert sorted((text[one.start : one.end], one.entry.name, one.entry.type) for one in found) == [
        ("ACME gateway", "Acme Gateway", "product"),
        ("AGW", "Acme Gateway", "product"),
        ("AGW-123", "Acme Gateway", "product"),
        ("OPS-1", "OPS-1", "ticket"),
        ("OPS-22", "OPS-22", "ticket"),
        ("acme", "Acme", "vendor"),
        ("東京タワー", "東京タワー", "place"),
    ]
    assert slow == []


def test_one_mention_makes_an_entity_and_an_alias_leads_to_it() -> None:
    corpus = Corpus({"a.md": "# A\n\nAsk the Gateway of Acme, or c++/gate, or OPS-7."}, parse_gazetteer(ENTITIES))
    assert corpus.edges_by_name("MENTIONS") == {("¶A", "Acme Gateway"), ("¶A", "OPS-7")}
    assert corpus.edges_by_name("ALIAS_OF") == {
        ("the gateway of Acme", "Acme Gateway"),
        ("C++/gate", "Acme Gateway"),
    }
    assert {title: corpus.types()[title] for title in ("Acme Gateway", "OPS-7")} == {
        "Acme Gateway": "product",
        "OPS-7": "ticket",
    }


def test_the_users_type_counts_more_than_what_else_a_document_makes_of_a_name() -> None:
    corpus = Corpus(
        {"a.md": "---\ntitle: Acme\ntags: [acme]\n---\n\nThe ACME gateway of Acme."}, parse_gazetteer(ENTITIES)
    )
    assert corpus.types() == {"Acme": "vendor", "Acme Gateway": "product"}


def test_a_user_means_code_too() -> None:
    corpus = Corpus(
        {"a.md": "# A\n\n```\nagw --start\n```\n", "b.py": "# see OPS-9\nx = 1\n"}, parse_gazetteer(ENTITIES)
    )
    assert corpus.targets("MENTIONS") == {"Acme Gateway", "OPS-9"}


def test_a_pattern_that_takes_too_long_is_left_out_and_said() -> None:
    slow = "[[pattern]]\ntype = 'slow'\npattern = '(x+x+)+y'\n"
    gazetteer = parse_gazetteer(slow + ENTITIES, pattern_seconds=0.05)
    corpus = Corpus({"a.md": "# A\n\nOPS-3 " + "x" * 5000}, gazetteer)
    assert corpus.targets("MENTIONS") == {"OPS-3"}
    assert corpus.warnings == ["a.md: the pattern '(x+x+)+y' of entities.toml took too long and was left out"]


REFUSED = {
    "[[entity]]\nname = 'A'\nkind = 'x'": "entity.0.kind: Extra inputs are not permitted",
    "[[entity]]\ntype = 'x'": "entity.0.name: Field required",
    "[[entity]]\nname = '--'": "'--' has neither letter nor digit",
    "[[entity]]\nname = 'A'\ntype = 'Not One'": "entity.0.type: String should match pattern",
    "[[pattern]]\ntype = 'x'\npattern = '('": "the pattern '(' is not a regular expression",
    "[[pattern]]\ntype = 'x'\npattern = ''": "pattern.0.pattern: String should have at least 1 character",
    "entity = 3": "entity: Input should be a valid tuple",
    "nonsense": "it is not TOML",
}


@pytest.mark.parametrize(("text", "why"), REFUSED.items())
def test_a_file_that_cannot_be_used_says_what_is_wrong_with_it(text: str, why: str) -> None:
    with pytest.raises(WinnowError) as caught:
        parse_gazetteer(text)
    assert caught.value.reason == "INVALID_REQUEST"
    assert why in caught.value.message
    assert caught.value.message.endswith("; docs/graph.md describes it")


def test_a_file_is_read_from_disk_and_an_empty_one_names_nothing(tmp_path: Path) -> None:
    path = tmp_path / "entities.toml"
    path.write_text(ENTITIES, encoding="utf-8")
    assert read_gazetteer(path) == parse_gazetteer(ENTITIES)
    path.write_text("", encoding="utf-8")
    assert read_gazetteer(path) == NO_GAZETTEER
    path.write_bytes(b"# " + b"x" * 2 * 1024 * 1024)
    with pytest.raises(WinnowError, match="larger than 2 MiB"):
        read_gazetteer(path)


def test_the_example_of_the_documentation_is_a_gazetteer() -> None:
    example = (ROOT / "docs" / "graph.md").read_text("utf-8").partition("```toml\n")[2].partition("```")[0]
    found, slow = parse_gazetteer(example).find("EGW, egw-1234, EGW-1234 of acme: OPS-5")
    assert (sorted({(one.entry.name, one.entry.type) for one in found}), slow) == (
        [("Acme", "vendor"), ("Edge Gateway", "product"), ("OPS-5", "ticket")],
        [],
    )
