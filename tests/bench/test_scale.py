"""``tests.bench.scale``: every figure is there, and a corpus is the same in every run. No speed is judged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from tests.bench import scale
from tests.bench.scale_steps import Job
from tests.bench.synthetic_corpus import Sample, generate_corpus, pick_questions


def test_a_drawn_corpus_is_the_same_in_every_run_and_says_what_it_was_drawn_from() -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    own = tuple(tuple(f"Chunk {n} has this sentence {part} in it." for part in range(3)) for n in range(12))
    sample = Sample(("Title",) * 12, (("Heading",),) * 12, own, vectors)
    once, again = (list(generate_corpus(sample, 130, 50, "model")) for _ in range(2))
    assert [part.entries for part in once] == [part.entries for part in again]
    points = [point for part in once for point in part.points]
    assert (len(points), len({point.chunk_id for point in points})) == (130, 130)
    assert max(abs(float(np.linalg.norm(point.dense)) - 1) for point in points if point.dense is not None) < 1e-5
    said = {sentence for sentences in own for sentence in sentences}
    texts = [chunk.text for part in once for entry in part.entries for chunk in entry.chunks]
    assert all(sentence + "." in said for text in texts for sentence in text.removesuffix(".").split(". "))
    assert len(pick_questions(sample, 5)) == 5


def test_the_figures_of_scale_are_all_there(corpus: Path, tmp_path: Path) -> None:
    """A small one, through both processes."""
    job = Job(chunks=600, store=str(tmp_path / "scale"), source=str(corpus), sample=60, questions=20)
    steps: set[str] = set()
    found = scale.measure(job, lambda name, done, of: steps.add(name))
    assert set(found["ask"]["recall_at_10"].values()) == {1.0}  # so few are scanned
    assert set(found["ask"]["hybrid_ms"]) == {"first", "all", "every-10", "every-50", "every-100"}
    assert set(found["build"]["seconds"]) == {"draw", "truth", "catalogue", "vectors", "optimize"}
    assert min(found["disk_mib"], found["build"]["peak_resident_mib"], found["ask"]["restart_s"]) > 0
    assert {"writing", "optimizing", "asking, all"} <= steps
    again = json.loads(CliRunner().invoke(scale.app, ["--chunks", "1000", "--store", job.store, "--json"]).stdout)
    assert "is not empty" in again["error"]["message"]
