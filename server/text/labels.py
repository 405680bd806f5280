"""The rule by which labels are compared: tags, vendors, doc tags, values and names of fields. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable


def fold_label(text: str) -> str:
    r"""The form by which labels are compared: without case and outer spaces, one space between words, in NFC.

    >>> fold_label(" Cafe\u0301  NOIR ") == "caf\u00e9 noir"
    True
    """
    folded = text if text.isascii() else unicodedata.normalize("NFC", text)
    folded = " ".join(folded.casefold().split())
    return folded if folded.isascii() else unicodedata.normalize("NFC", folded)


def find_spellings(known: Iterable[str], label: str) -> tuple[str, ...]:
    """The known labels that are this one, however they are spelled."""
    folded = fold_label(label)
    return tuple(sorted(each for each in known if fold_label(each) == folded))
