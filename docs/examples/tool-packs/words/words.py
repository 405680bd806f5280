"""The most frequent words of a text, for the tool pack ``text.words``."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any


def frequent(given: dict[str, Any]) -> list[dict[str, Any]]:
    """The words of ``given["text"]`` that occur most often, at most ``given["most"]`` of them."""
    counts = Counter(re.findall(r"\w+", given["text"].lower()))
    return [{"word": word, "count": count} for word, count in counts.most_common(given.get("most", 10))]
