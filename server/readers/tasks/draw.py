"""Draws a page of a PDF, with quotes marked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

from winnow.server.models import WantedText
from winnow.server.readers.page_pictures.drawing import draw_page
from winnow.server.readers.tasks.table import ReaderAnswer


def warm_up(*, uses_ocr: bool) -> None:
    """Nothing is left to load."""


def serve(request: dict[str, Any], open_document: Callable[[], BinaryIO]) -> ReaderAnswer:
    """The marks of the wanted texts, and the picture."""
    with open_document() as document:
        document.seek(0)
        wanted = [WantedText(*each) for each in request["wanted"]]
        drawn = draw_page(document, int(request["page"]), wanted)
    return {"marks": list(drawn.marks)}, drawn.data
