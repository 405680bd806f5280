"""The benchmark of evidence: what it counts, over documents made here."""

from __future__ import annotations

from pathlib import Path

from tests.bench.claims import measure

SUBJECTS = ("lantern", "gateway", "archive", "turbine", "library", "harbour")


def _page(number: int) -> str:
    sentences = (
        f"The {subject} number {number * 10 + place} is inspected every {place + 2} days by the crew of the yard."
        for place, subject in enumerate(SUBJECTS)
    )
    parts = (f"## Part {n}\n\n{each}\n\n```\n{'valve ' * 150}\n```" for n, each in enumerate(sentences))
    return "\n\n".join((f"# Page {number}", *parts)) + "\n"


def test_true_quotes_verify_and_altered_ones_are_noticed(tmp_path: Path) -> None:
    """A word that is altered in the claim alone is what no rule notices."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(4):
        (folder / f"page{number}.md").write_text(_page(number), "utf-8")
    rows, seconds = measure(folder, tmp_path / "store", 24, 1)
    shares = {row.kind: (row.quotes, row.noticed) for row in rows}
    assert seconds > 0
    assert shares == {
        "true quote": (24, 0),
        "quote and claim: word": (6, 6),
        "quote and claim: number": (6, 6),
        "quote and claim: negation": (6, 6),
        "another place": (6, 6),
        "claim alone: word": (6, 0),
        "claim alone: number": (6, 6),
        "claim alone: negation": (6, 6),
    }
