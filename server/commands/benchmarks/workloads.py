"""The scripts that the sandbox, plain Python and other runners execute. Each sets ``result``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CALLS = 1_000

# Results are small, so that they can be compared.
CPU: Mapping[str, str] = MappingProxyType(
    {
        "filter_sort_50k_rows": """
rows = [{"id": i, "score": (i * 7919) % 10007, "name": f"row {i}"} for i in range(50_000)]
kept = [row for row in rows if row["score"] > 2_000]
kept.sort(key=lambda row: (-row["score"], row["name"]))
result = [len(kept), kept[0]["id"]]
""",
        "fib_24": """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
result = fib(24)
""",
        "regex_1_mb": """
import re
text = "alpha beta-42 gamma@example.org 2026-01-31 " * 25_000
result = [len(re.findall(r"[a-z]+@[a-z.]+", text)), len(re.findall(r"\\d{4}-\\d{2}-\\d{2}", text))]
""",
        "json_10k_rows": """
import json
rows = [{"id": i, "title": f"title {i}", "tags": ["a", "b"], "score": i / 7} for i in range(10_000)]
result = len(json.loads(json.dumps(rows)))
""",
        "count_45k_words": """
counts = {}
for word in ("the quick brown fox jumps over the lazy dog " * 5_000).split():
    counts[word] = counts.get(word, 0) + 1
result = sorted(counts.items(), key=lambda item: -item[1])[0][1]
""",
    }
)

# The answer to every search.
ROWS = tuple({"id": f"doc-{i}", "title": "Retry policy", "score": 0.5, "source": "guide.md"} for i in range(3))
PAGE: Mapping[str, object] = MappingProxyType(
    {"mode": "metadata", "count": len(ROWS), "results": list(ROWS), "estimated_tokens": 60}
)
