"""Token counts with tiktoken and a vocabulary that ships with winnow: no download, ever.

``tiktoken`` looks for its vocabularies in the folder ``TIKTOKEN_CACHE_DIR`` and checks their sha256; ours lies
in ``server/data/tiktoken``. Where it cannot be read the count falls back to bytes / 4 and ``encoding_name``
says so, because a count under a wrong label is worse than a rough one.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import tiktoken

ENCODING = "o200k_base"
FALLBACK = "bytes/4"
_VOCABULARIES = Path(__file__).parent / "data" / "tiktoken"


@cache
def _encoding() -> tiktoken.Encoding | None:
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(_VOCABULARIES)
    try:
        return tiktoken.get_encoding(ENCODING)
    except Exception:  # any reason at all (missing file, wrong hash, no network) means: fall back, labelled
        return None
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


def encoding_name() -> str:
    """The name of what counts: "o200k_base", or "bytes/4" where the vocabulary cannot be read."""
    return ENCODING if _encoding() else FALLBACK


def count_tokens(text: str) -> int:
    """Tokens in ``text``. The first call loads the vocabulary (about 0.2 s, 66 MB)."""
    encoding = _encoding()
    if encoding is None:
        return -(-len(text.encode("utf-8", "replace")) // 4)
    return len(encoding.encode_ordinary(text))
