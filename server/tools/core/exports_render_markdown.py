"""``exports.render.markdown``: sections, quotes and citations as Markdown."""

from __future__ import annotations

from typing import Any

from winnow.server.contracts.core.exporting import RenderedMarkdown
from winnow.server.operations.answers.tiers import ANSWER_BYTES, ANSWER_TOKENS, Size
from winnow.server.operations.core.exporting import EXPORTS_RENDER_MARKDOWN
from winnow.server.text.framing import frame_text
from winnow.server.tools.base import Tool

DESCRIPTION = """\
Render a title, sections and quotes as Markdown, with citations and a list of the cited works.
Use when: a report is written; each quote is checked, and cited with the page where it stands.
Do not use when: a text is Markdown already (citations_audit_check checks it).
Returns at most: one document, 20,000 tokens.
If you need more, call: this for other sections.
Defaults: style pandoc, bibliography true. Max: 60,000 characters, 100 quotes.
Paragraphs are plain text and are escaped."""


def _render(payload: dict[str, Any]) -> list[str]:
    unverified = ", ".join(f"{each['number']} {each['status']}" for each in payload["unverified"])
    return [
        f"{payload['quotes']} quotes; not verified: {unverified or 'none'}",
        f"citekeys: {', '.join(payload['citekeys']) or 'none'}",
        *frame_text(payload["markdown"]),
    ]


TOOL = Tool(
    operation=EXPORTS_RENDER_MARKDOWN,
    title="Render Markdown",
    description=DESCRIPTION,
    answer=RenderedMarkdown,
    lines=_render,
    max_size=Size(ANSWER_TOKENS["full"], ANSWER_BYTES),
    pack="core",
)
