"""Memory that was freed goes back to the system."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.both_users

# Blocks of the C library's heap, of which one in a hundred stays in use.
_PROGRAM = """
import psutil
from winnow.server.runtime.memory import release_memory
blocks = [bytes(2_000) for _ in range(100_000)]
kept = blocks[::100]
del blocks
before = psutil.Process().memory_info().rss
release_memory()
print(before - psutil.Process().memory_info().rss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc keeps what is freed")
def test_what_lies_between_blocks_in_use_is_given_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert int(done.stdout) > 100_000_000
