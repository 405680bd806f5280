"""Documents whose titles, lines and names are markup, code or addresses where a page takes them for such."""

from __future__ import annotations

import json
from pathlib import Path

from tests.pdf_files import Box, Drawing, PdfFile, build_pdf, paragraph

KILN, PLAIN = "The kiln is kept at ninety degrees.", "Backups are kept for ninety days."
EVIL = (
    "</script><script>parent.postMessage('taken','*');document.title='taken'</script>",
    "<img src=x onerror=\"document.title='taken'\"><svg onload=\"document.title='taken'\"></svg>",
    "[click](javascript:document.title='taken') ![](http://evil.test/pixel.png) <http://evil.test/>",
    "</li></ol><iframe srcdoc=\"<script>parent.document.title='taken'</script>\"></iframe>",
    "{{constructor.constructor('document.title=1')()}} ${document.title='taken'}",
    "<base href=http://evil.test/><meta http-equiv=refresh content='0;url=http://evil.test/'>",
)
LINES = ["# Rules", "", *EVIL, "", f"🔥 {PLAIN}", "", "The end."]


def write_files(folder: Path) -> Path:
    """A PDF of three pages, of which the last one is a drawing, and a text whose lines are markup and code."""
    folder.mkdir()
    pages: list[list[Drawing]] = [
        [*paragraph(72, 760, ["The furnace is lit at dawn.", "Nobody enters."])],
        [*paragraph(72, 760, ["A page.", KILN])],
        [Box(100, 100, 300, 300, (1, 0, 0))],
    ]
    (folder / "kilns.pdf").write_bytes(build_pdf(PdfFile(pages)))
    front = f"---\ntitle: {json.dumps(EVIL[0])}\n---\n"
    (folder / "rules <b>.md").write_text(front + "\n".join(LINES) + "\n", "utf-8")
    return folder
