"""Manual pages as Markdown: the text that ``man`` shows, without page headers and footers."""

from __future__ import annotations

import re

from winnow.server.readers.manuals.interpreter import Interpreter
from winnow.server.readers.manuals.man_macros import MACROS as MAN
from winnow.server.readers.manuals.mdoc_macros import MACROS as MDOC

# The requests that begin a page of each package; a page that is an alias only has "so".
_PACKAGES = {"TH": MAN, "SH": MAN, "Dd": MDOC, "Dt": MDOC, "Sh": MDOC}
_BEGINNING_CHARS = 64 * 1024
_FIRST_LINE = re.compile(r"\s*[.'](?:\\\"|'|[ \t]*[A-Za-z\\])")
_PAGE = re.compile(r"^[.'][ \t]*(?:(?:TH|Dd|Dt|SH|Sh)[ \t]+\S|so[ \t]+\S+/\S+)", re.MULTILINE)


def is_manual(text: str) -> bool:
    r"""Whether a text is a manual page in roff.

    >>> is_manual('.\\" A comment\n.TH LS 1\n'), is_manual("LS(1)  User commands\n")
    (True, False)
    """
    beginning = text[:_BEGINNING_CHARS]
    return _FIRST_LINE.match(beginning) is not None and _PAGE.search(beginning) is not None


def manual_to_markdown(text: str) -> tuple[str, str]:
    """The title of a page ("LS(1)"), and the page as Markdown. Raises ``UnreadableFile``."""
    page = Interpreter(text, _PACKAGES)
    page.run()
    return page.names.title, page.draft.finish()
