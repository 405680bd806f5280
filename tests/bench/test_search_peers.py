"""``tests.bench.search_peers``: peers get the same vectors, and a missing interpreter is named."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from tests.bench import search_peers


def test_a_peer_that_is_there_is_measured_with_the_same_vectors(tmp_path: Path) -> None:
    vectors = np.eye(40, 16, dtype=np.float32) + np.float32(0.01)
    np.save(tmp_path / "v.npy", vectors)
    (tmp_path / "t.json").write_text(json.dumps([f"text {n}" for n in range(40)]))
    job = {
        "vectors": str(tmp_path / "v.npy"),
        "queries": str(tmp_path / "v.npy"),
        "texts": str(tmp_path / "t.json"),
        "questions": [f"text {n}" for n in range(40)],
    }
    found = search_peers.measure_peer(sys.executable, search_peers.PEERS["numpy, exact"], job)
    assert (found["recall_at_10"], set(found)) == (1.0, {"version", "build_s", "ms", "recall_at_10"})
    assert set(search_peers.measure_peer("/nowhere/python", "", job)) == {"missing"}
