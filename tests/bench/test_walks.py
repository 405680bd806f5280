"""The benchmark of the walks of prompts, over entries made here."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from tests.bench.walks import WALKS, made_pages, measure


def test_each_prompt_s_walk_takes_a_tenth_of_reading_its_entries_or_less(tmp_path: Path) -> None:
    """Of what hosts hand over as text; the structure has the facts of each call, too."""
    choice = random.Random(1)
    figures = asyncio.run(measure(tmp_path, list(made_pages(24, choice)), 3, choice))
    assert figures["entries"] == 26
    assert figures["claims"] >= 26 * 10
    assert set(figures["prompts"]) == set(WALKS)
    for row in figures["prompts"].values():
        assert row["entries"] >= 2
        assert 0 < row["share_text"]["median"] <= 0.1
        assert row["text"] < row["structured"] < row["reading"]
    assert 0 < figures["twenty_claims"]["text"] <= 600
