"""The Markdown of a manual page while it is written: paragraphs, items of lists, code, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from winnow.server.readers.common.markdown_draft import one_line, plain_text, table
from winnow.server.readers.documents import UnreadableFile
from winnow.server.text.markup.code_marks import fenced

# Levels below are not indented further: each would lengthen every line within it.
_DEEPEST_INDENT = 24
_DEEPEST_LEVEL = 100
_BULLETS = frozenset("•·*-–—+o○□▪‣∙⋅")
_NUMBER = re.compile(r"\d{1,4}[.)]")


@dataclass(slots=True)
class _Level:
    """A level of indentation: the indentation of its open item, 0 if no item is open."""

    width: int = 0


class PageDraft:
    """Blocks of Markdown, made of text as it is printed. ``limit`` bounds their characters."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._blocks: list[str] = []
        self._lines: list[str] = []
        self._line = ""
        self._is_glued = False
        self._levels = [_Level()]
        self._mark = ""  # of the item that begins with the next block
        self._code: list[str] | None = None
        self._tag: str | None = None  # of a tagged paragraph, while it is read
        self._keeps_tag_open = False
        self._is_further = False
        self._heading = 0  # the level of a heading whose text is awaited

    # --- text

    def text(self, text: str, *, glued: bool = False, glues: bool = False) -> None:
        """Add a line of text. ``glued``: without a blank before it; ``glues``: without one after it."""
        self._charge(len(text) + 1)
        if self._code is not None and self._tag is None:
            self._add_code(text, glued=glued, glues=glues)
            return
        words = one_line(text)
        if self._heading:
            self.heading(self._heading, words)
        elif self._tag is not None:
            self._tag += words if glued or self._is_glued or not self._tag else f" {words}"
            self._is_glued = glues
            if not glues and not self._keeps_tag_open:
                self.end_tag()
        elif words or glues:
            if text[:1] == " " and not (glued or self._is_glued):
                self.break_line()
            self._line += words if glued or self._is_glued or not self._line else f" {words}"
            self._is_glued = glues

    def break_line(self) -> None:
        """Begin a new line of the paragraph."""
        self._is_glued = False
        if self._line:
            self._lines.append(self._line)
        self._line = ""

    def paragraph(self) -> None:
        """End the paragraph, or leave an empty line in code."""
        if self._code is not None:
            if self._code and self._code[-1]:
                self._code.append("")
            return
        self.break_line()
        if self._lines:
            self._write(plain_text("\n".join(self._lines)))
        self._lines = []

    def heading(self, level: int, text: str) -> None:
        """Write a heading; without ``text``, the next line of text becomes the heading. Ends all items."""
        self.leave_code()
        self.end_tag()
        self.paragraph()
        self._levels, self._mark, self._heading = [_Level()], "", 0 if text else level
        if text:
            self._write(f"{'#' * level} {one_line(text)}")

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Write a table; one with a single column becomes lines."""
        self._charge(sum(len(cell) + 3 for row in rows for cell in row) * 2)
        self.leave_code()
        self.paragraph()
        rows = [row for row in rows if any(cell.strip() for cell in row)]
        if rows and max(map(len, rows)) == 1:
            self._write(plain_text("\n".join(one_line(row[0]) for row in rows)))
        elif rows:
            self._write(table(rows))

    # --- code

    def begin_code(self) -> None:
        """Begin code: lines are kept as they are from now on."""
        if self._code is None:
            self.paragraph()
            self._code = []

    def leave_code(self) -> None:
        """End code: lines are filled again."""
        lines, self._code = self._code, None
        self._is_glued = False
        while lines and not lines[-1]:
            lines.pop()
        if lines:
            self._write(fenced("\n".join(lines)))

    def _add_code(self, text: str, *, glued: bool, glues: bool) -> None:
        assert self._code is not None
        if (glued or self._is_glued) and self._code:
            self._code[-1] += text
        elif text or self._code:
            self._code.append(text.rstrip())
        self._is_glued = glues

    # --- items

    def begin_level(self) -> None:
        """Indent the blocks that follow: items of a list within an item."""
        self._suspend()
        if len(self._levels) < _DEEPEST_LEVEL:
            self._levels.append(_Level())

    def end_level(self) -> None:
        """Return to the previous level."""
        self._suspend()
        if len(self._levels) > 1:
            self._levels.pop()

    def begin_item(self, tag: str = "") -> None:
        """Begin an item with this tag; a bullet or a number marks it."""
        self._suspend(keeps_code=self._code is not None)
        self._mark = ""
        tag = one_line(tag)
        mark = tag if _NUMBER.fullmatch(tag) else "-"
        self._levels[-1].width = len(mark) + 1
        self._mark = f"{mark} "
        if tag and tag not in _BULLETS and mark != tag:
            self._lines = [tag]

    def end_item(self) -> None:
        """End the item of this level: the text that follows is a separate paragraph."""
        self._suspend(keeps_code=self._code is not None)
        self._levels[-1].width = 0
        self._mark = ""

    def begin_tag(self, *, keeps_open: bool = False) -> None:
        """Take the next line as the tag of an item; with ``keeps_open`` all lines until ``end_tag``."""
        self.end_tag()
        self._suspend(keeps_code=self._code is not None)
        self._tag, self._keeps_tag_open = "", keeps_open

    def end_tag(self) -> None:
        """Complete the tag and begin its item."""
        tag, self._tag = self._tag, None
        is_further, self._is_further = self._is_further, False
        self._keeps_tag_open = False
        if tag and is_further:
            self._lines.append(tag)
        elif tag:
            self.begin_item(tag)
        self._is_glued = self._is_glued and not tag

    def add_tag(self) -> None:
        """Take the next line as another tag of the item whose tag was read."""
        assert self.has_bare_tag
        self._tag, self._keeps_tag_open, self._is_further = "", False, True

    @property
    def has_bare_tag(self) -> bool:
        """Whether the current item has only its tag so far."""
        return bool(self._mark and self._lines) and not self._line

    def _suspend(self, *, keeps_code: bool = False) -> None:
        """End the paragraph; with ``keeps_code``, code continues after it."""
        self._tag = None
        is_code = self._code is not None
        self.leave_code()
        self.paragraph()
        if keeps_code and is_code:
            self._code = []

    # --- the whole

    def finish(self) -> str:
        """The Markdown of the page."""
        self.leave_code()
        self.end_tag()
        self.paragraph()
        return "\n\n".join(self._blocks)

    def _charge(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise UnreadableFile("its macros make more text of it than a page has; simplify it")

    def _write(self, block: str) -> None:
        outer = sum(level.width for level in self._levels[:-1])
        within = " " * min(outer + self._levels[-1].width, _DEEPEST_INDENT)
        first = " " * min(outer, _DEEPEST_INDENT) + self._mark if self._mark else within
        self._mark = ""
        lines = [
            f"{within if number else first}{line}"
            for number, line in enumerate(block.split("\n"))
            if line or number
        ]
        text = "\n".join(line.rstrip() for line in lines)
        self._charge(len(text) - len(block) + 2)
        self._blocks.append(text)


def lines_of(blocks: str) -> Iterator[str]:
    """The lines of a text without indentation and empty ones."""
    return (line.strip() for line in blocks.split("\n") if line.strip())
