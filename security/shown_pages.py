"""Files whose pages are shown, for the attacks of the family ``shown_pages``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from winnow.security.bomb_ingest import pdf_of
from winnow.security.surface import winnow

WORDS = "These words are cited."
_STORE = ("--store", "store")


def write_pdf(path: Path, *, box: str = "0 0 595 842", more: bytes = b"", font: bytes = b"") -> None:
    """A PDF of one page with `WORDS` on it; ``box``: its size, ``more``: what else its page draws."""
    words = b"BT /F1 12 Tf 1 0 0 1 72 700 Tm (%s) Tj ET\n%s" % (WORDS.encode(), more)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[%s]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>%s>>>>"
        % (box.encode(), font),
        b"<</Length %d>>stream\n%s\nendstream" % (len(words), words),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pdf_of(objects))


def ingest() -> None:
    """Ingest the folder ``documents``. Raises if that fails."""
    done = winnow("ingest", "documents", *_STORE)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())


def show(*arguments: str, seconds: float = 100.0) -> dict[str, Any]:
    """The answer of ``winnow open`` as JSON; the picture is in the file ``page.png``."""
    done = winnow("open", *arguments, "--png", "page.png", "--json", *_STORE, seconds=seconds)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def is_shown() -> bool:
    """Whether there is a picture of a page."""
    return Path("page.png").exists()


def check_that_pages_are_shown(document: str = "paper.pdf") -> None:
    """Raise unless the page of a harmless file is shown: an attack proves nothing otherwise."""
    answer = show(document, "--quote", WORDS)
    if answer.get("mark") != "exact" or not is_shown():
        raise RuntimeError(str(answer))
    Path("page.png").unlink()
