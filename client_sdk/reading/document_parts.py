"""Parts of Markdown by their characters: headings, fenced code, tables, and paragraphs with the links in them.

Two passes of linear time. ``read_parts`` goes over the lines and holds the open block quotes and list items, as
CommonMark describes it; what is inside code, HTML or comments counts as nothing else. ``find_links`` goes over the
signs of each paragraph once. Pure: the same source runs in the smaller language, which has no generators.
"""

from __future__ import annotations

import bisect
import re
from typing import Any

_QUOTE = 0  # of the open containers; a list item is the width of its indentation
_DEEPEST = 32  # containers of a line; further marks are text, so that each line costs a bounded number of steps
_MARK_CHARS = 20
_WIDEST_TAB = 4

_FENCE = re.compile(r"(?:(`{3,}+)([^`]*+)|(~{3,}+)(.*+))\Z", re.S)
_HEADING = re.compile(r"(#{1,6}+)(?![^ \t])[ \t]*+(.*+)\Z", re.S)
_CLOSING_SIGNS = re.compile(r"(?:(?<=[ \t])|\A)#++[ \t]*+\Z")
_ANCHOR = re.compile(r"(?:\A| )\{#[^{}\s]{1,200}+\}\Z")
_UNDERLINE = re.compile(r"(?:=++|-++)[ \t]*+\Z")
_RULE = re.compile(r"(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)\Z")
_ITEM = re.compile(r"([-*+]|(\d{1,9}+)[.)])(?=[ \t]|\Z)")
_DELIMITERS = re.compile(r"\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+:?+-++:?+[ \t]*+)*+\|?+[ \t]*+\Z")
_DEFINITION = re.compile(
    r"\[((?:[^\[\]\\\n]|\\.){1,999}+)\]:[ \t]*+(<[^<>\n]{0,1000}+>|[^\s<]\S{0,2000}+)"
    r"(?:[ \t]++(?:\"[^\"\n]*+\"|'[^'\n]*+'|\([^()\n]*+\)))?+[ \t]*+\Z"
)
_TEMPLATE = ("{{", "{%")
_CAPTION = re.compile(r"[*_>\s]*+(?:table|tab\.|exhibit)[ \t]++[\dA-Z]", re.I)
_STATED_CAPTION = re.compile(r"\bcaption[ \t]*+=[ \t]*+\"([^\"\n]*+)\"")
_CAPTION_CHARS = 600
# The beginning of a block of HTML, and the text at which it ends; "" for a blank line.
_HTML = (
    (
        re.compile(r"<(?:script|pre|style|textarea)(?![\w-])", re.I),
        ("</script>", "</pre>", "</style>", "</textarea>"),
    ),
    (re.compile(r"<!--"), ("-->",)),
    (re.compile(r"<\?"), ("?>",)),
    (re.compile(r"<![A-Za-z]"), (">",)),
    (
        re.compile(
            r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
            r"dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|"
            r"html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|"
            r"summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?![\w-])",
            re.I,
        ),
        ("",),
    ),
)


class DocumentParts:
    """The parts of one text.

    ``headings``: start, level, text. ``codes``: start, end, language, code. ``tables``: start, end, header, rows,
    spans of the rows, caption. ``paragraphs``: start, end of texts that may have links. ``targets``: of links by
    their labels.
    """

    def __init__(self) -> None:
        self.headings: list[Any] = []
        self.codes: list[Any] = []
        self.tables: list[Any] = []
        self.paragraphs: list[Any] = []
        self.targets: dict[str, str] = {}


class LineReader:
    """The state between two lines: the open containers, and the one open block, a paragraph at most."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts = DocumentParts()
        self.containers: list[int] = []
        self.paragraph: list[Any] = []  # start and end of each of its lines
        self.fence: Any = None
        self.html: Any = None
        self.table: Any = None

    def read(self, start: int, line: str) -> None:
        """Take the next line, which begins at this character."""
        filled = len(line.rstrip(" \t"))
        at, held = self._enter(line, filled)
        if held < len(self.containers):
            if self._goes_on_lazily(line, at, filled):
                self._add_to_paragraph(start, at, filled, line)
                return
            self._close_all(start)
            self.containers = self.containers[:held]
        if self.fence is not None:
            self._read_code(start, line, at)
        elif self.html is not None:
            self._read_html(line, at, filled)
        else:
            self._read_leaf(start, line, self._open_containers(start, line, at, filled), filled)

    def finish(self) -> None:
        """Close what is open at the end of the text."""
        self._close_all(len(self.text))

    # --- containers

    def _enter(self, line: str, filled: int) -> tuple[int, int]:
        """Where the content within the open containers begins, and how many of them go on in this line."""
        at = 0
        for number, kind in enumerate(self.containers):
            width, after = _indent_of(line, at, max(kind, _WIDEST_TAB))
            if kind == _QUOTE:
                if width >= _WIDEST_TAB or line[after : after + 1] != ">":
                    return at, number
                at = after + 1
                at += line[at : at + 1] == " "
            elif width >= kind or after >= filled:
                at = _skip_columns(line, at, kind)
            else:
                return at, number
        return at, len(self.containers)

    def _goes_on_lazily(self, line: str, at: int, filled: int) -> bool:
        if not self.paragraph or self.table is not None:
            return False
        width, after = _indent_of(line, at, _WIDEST_TAB)
        return after < filled and (width >= _WIDEST_TAB or not self._begins_block(line[after:filled]))

    def _begins_block(self, rest: str) -> bool:
        """Whether this begins a block that ends a paragraph."""
        return (
            rest[0] == ">"
            or _FENCE.match(rest) is not None
            or _HEADING.match(rest) is not None
            or _RULE.match(rest) is not None
            or _interrupts(rest)
            or (rest[0] == "<" and _html_end(rest) is not None)
        )

    def _open_containers(self, start: int, line: str, at: int, filled: int) -> int:
        """Open the quotes and list items that begin in this line; returns where their content begins."""
        while len(self.containers) < _DEEPEST:
            width, after = _indent_of(line, at, _WIDEST_TAB)
            if after >= filled or width >= _WIDEST_TAB:
                return at
            if line[after] == ">":
                self._close_text()
                self.containers.append(_QUOTE)
                at = after + 1
                at += line[at : at + 1] == " "
                continue
            mark = _ITEM.match(line[after : min(filled, after + _MARK_CHARS)])
            rest = line[after:filled]
            if mark is None or (self.paragraph and not _interrupts(rest)) or _RULE.match(rest):
                return at
            if self.paragraph and _UNDERLINE.match(rest):
                return at
            self._close_text()
            marked = after + len(mark.group(1))
            blank, content = _indent_of(line, marked, _WIDEST_TAB + 1)
            if content >= filled or blank > _WIDEST_TAB:
                blank = 1
            self.containers.append(width + len(mark.group(1)) + blank)
            at = min(_skip_columns(line, marked, blank), filled)
        return at

    # --- blocks

    def _read_leaf(self, start: int, line: str, at: int, filled: int) -> None:
        width, after = _indent_of(line, at, _WIDEST_TAB)
        if after >= filled:
            self._close_text()
            return
        rest = line[after:filled]
        if width >= _WIDEST_TAB:
            if self.paragraph:
                self._add_to_paragraph(start, after, filled, line)
            elif self.table is not None:
                self._close_text()
            return
        fence = _FENCE.match(rest)
        if fence is not None:
            self._close_text()
            signs = fence.group(1) or fence.group(3)
            info = (fence.group(2) if fence.group(1) else fence.group(4)) or ""
            self.fence = {
                "start": start + after,
                "signs": signs,
                "info": info.strip(),
                "width": width,
                "lines": [],
            }
            return
        heading = _HEADING.match(rest)
        if heading is not None:
            self._close_text()
            words = _CLOSING_SIGNS.sub("", heading.group(2)).strip(" \t")
            self._add_heading(start + after, start + filled, len(heading.group(1)), words)
            return
        if self.paragraph and self.table is None and _UNDERLINE.match(rest):
            if not self._read_delimiters(start, line, after, filled):
                self._close_underlined(rest)
            return
        if _RULE.match(rest):
            self._close_text()
            return
        ends = _html_end(rest) if rest[0] == "<" else None
        if ends is not None:
            self._close_text()
            self.html = ends
            self._read_html(line, after, filled)
            return
        if self.table is not None and rest[:2] in _TEMPLATE and "|" not in rest:
            self._close_text()  # such a tag stands below many tables, which no reader of them sees
        if self.table is not None:
            self._add_row(start + after, start + filled, rest)
        elif not self._read_delimiters(start, line, after, filled):
            self._add_to_paragraph(start, after, filled, line)

    def _add_to_paragraph(self, start: int, at: int, filled: int, line: str) -> None:
        after = _indent_of(line, at, filled)[1]
        definition = None if self.paragraph else _DEFINITION.match(line[after:filled])
        if definition is None:
            self.paragraph.append((start + after, start + filled))
            return
        target = definition.group(2)
        target = target[1:-1] if target[0] == "<" else target
        self.parts.targets.setdefault(label_key(definition.group(1)), _unescape(target))

    def _add_heading(self, start: int, end: int, level: int, words: str) -> None:
        if not self.containers:
            self.parts.headings.append((start, level, _ANCHOR.sub("", " ".join(words.split()))))
        self.parts.paragraphs.append((start, end))

    def _close_underlined(self, rest: str) -> None:
        start, end = self.paragraph[0][0], self.paragraph[-1][1]
        self.paragraph = []
        self._add_heading(start, end, 1 if rest[0] == "=" else 2, self.text[start:end])

    def _read_delimiters(self, start: int, line: str, after: int, filled: int) -> bool:
        """Open a table if this is the line below a header."""
        if not self.paragraph or self.table is not None:
            return False
        rest = line[after:filled]
        head_start, head_end = self.paragraph[-1]
        head = self.text[head_start:head_end]
        if "|" not in head or not _DELIMITERS.match(rest):
            return False
        header = split_cells(head)
        if len(header) != len(split_cells(rest)):
            return False
        self.paragraph.pop()
        self._close_text()
        cells = [cell for _, _, cell in header]
        caption = self._caption_above(head_start)
        self._add_cells(head_start, header)
        self.table = {"start": head_start, "end": start + filled, "header": cells, "rows": [], "spans": []}
        self.table["caption"] = caption
        return True

    def _add_row(self, start: int, end: int, rest: str) -> None:
        width = len(self.table["header"])
        cells = split_cells(rest)[:width]
        self._add_cells(start, cells)
        written = [cell for _, _, cell in cells]
        self.table["rows"].append(written + [""] * (width - len(written)))
        self.table["spans"].append([start, end])
        self.table["end"] = end

    def _add_cells(self, start: int, cells: list[Any]) -> None:
        for first, last, cell in cells:
            if cell:
                self.parts.paragraphs.append((start + first, start + last))

    def _caption_above(self, start: int) -> str:
        if not self.parts.paragraphs:
            return ""
        first, last = self.parts.paragraphs[-1]
        if last - first > _CAPTION_CHARS or self.text[last:start].strip(" \t\n>"):
            return ""
        return _caption_in(self.text[first:last])

    # --- code and HTML

    def _read_code(self, start: int, line: str, at: int) -> None:
        width, after = _indent_of(line, at, _WIDEST_TAB)
        signs = self.fence["signs"]
        rest = line[after:].rstrip(" \t")
        if width < _WIDEST_TAB and len(rest) >= len(signs) and rest == signs[0] * len(rest):
            self._close_fence(start + len(line))
            return
        self.fence["lines"].append(line[_skip_columns(line, at, self.fence["width"]) :])

    def _close_fence(self, end: int) -> None:
        fence = self.fence
        self.fence = None
        code = "".join([f"{line}\n" for line in fence["lines"]])
        words = _unescape(fence["info"]).split()
        self.parts.codes.append((fence["start"], end, words[0] if words else "", code))

    def _read_html(self, line: str, at: int, filled: int) -> None:
        if self.html == ("",):
            if at >= filled:
                self.html = None
            return
        rest = line[at:filled].lower()
        if any(end in rest for end in self.html):
            self.html = None

    # --- ends

    def _close_text(self) -> None:
        """Close the open paragraph or table."""
        if self.table is not None:
            self.parts.tables.append(self.table)
            self.table = None
        if self.paragraph:
            start, end = self.paragraph[0][0], self.paragraph[-1][1]
            self.paragraph = []
            self.parts.paragraphs.append((start, end))
            self._add_caption_below(start, end)

    def _add_caption_below(self, start: int, end: int) -> None:
        """Give the table directly above a paragraph that paragraph as its caption, if it is one."""
        if not self.parts.tables or end - start > _CAPTION_CHARS:
            return
        table = self.parts.tables[-1]
        between = self.text[table["end"] : start]
        if not table["caption"] and not between.strip(" \t\n>") and between.count("\n") <= 2:
            table["caption"] = _caption_in(self.text[start:end])

    def _close_all(self, start: int) -> None:
        """Close every block before the character at which a line begins."""
        self._close_text()
        self.html = None
        if self.fence is not None:
            self._close_fence(max(self.fence["start"], start - (start < len(self.text))))


def read_parts(text: str, body: int = 0) -> DocumentParts:
    """The parts of a Markdown text from the character ``body`` on."""
    reader = LineReader(text)
    at = body
    for line in text[body:].split("\n"):
        reader.read(at, line)
        at += len(line) + 1
    reader.finish()
    return reader.parts


def _indent_of(line: str, at: int, most: int) -> tuple[int, int]:
    """The columns of white space from ``at`` on, up to about ``most``, and the character after them."""
    width = 0
    while width < most and at < len(line) and line[at] in " \t":
        width += 1 if line[at] == " " else _WIDEST_TAB - width % _WIDEST_TAB
        at += 1
    return width, at


def _skip_columns(line: str, at: int, columns: int) -> int:
    """The character after so many columns of white space, or after the white space."""
    width = 0
    while width < columns and at < len(line) and line[at] in " \t":
        width += 1 if line[at] == " " else _WIDEST_TAB - width % _WIDEST_TAB
        at += 1
    return at


def _interrupts(rest: str) -> bool:
    """Whether a list item begins that ends a paragraph: it has a text, and the number 1 if it has a number."""
    mark = _ITEM.match(rest[:_MARK_CHARS])
    if mark is None or (mark.group(2) and int(mark.group(2)) != 1):
        return False
    return bool(rest[len(mark.group(1)) :].strip(" \t"))


def _html_end(rest: str) -> Any:
    """The texts at which the block of HTML ends that begins here; None if none begins."""
    for begin, ends in _HTML:
        if begin.match(rest):
            return ends
    return None


def _caption_in(paragraph: str) -> str:
    stated = _STATED_CAPTION.search(paragraph)
    if stated is not None:
        return stated.group(1)
    return " ".join(paragraph.split()) if _CAPTION.match(paragraph) else ""


def split_cells(line: str) -> list[Any]:
    """The cells of a line of a table: start and end in the line, and the text; a bar after a backslash is text."""
    end = len(line.rstrip(" \t"))
    at = 1 if line.startswith("|") else 0
    bars = [bar for bar in _bars_of(line) if at <= bar < end]
    if bars and bars[-1] == end - 1:
        end = bars.pop()
    cells = []
    for bar in [*bars, end]:
        cell = line[at:bar]
        first = at + len(cell) - len(cell.lstrip(" \t"))
        written = cell.strip(" \t")
        cells.append((first, first + len(written), written.replace("\\|", "|")))
        at = bar + 1
    return cells


_BAR = re.compile(r"\\.|\|", re.S)


def _bars_of(line: str) -> list[int]:
    return [found.start() for found in _BAR.finditer(line) if found.group(0) == "|"]


# --- links

_TOKEN = re.compile(
    r"\\[!-/:-@\[-`{-~]|`++|!?+\[|[\]()]|\s++|<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}+:[^\s<>]*+|[^\s<>@]++@[^\s<>@]++)>"
    r"|<[A-Za-z/!?][^<>]{0,2000}+>|<"
)
_URL = re.compile(r"\bhttps?+://[^\s<>]++", re.I)
_AFTER_URL = "?!.,:*_~'\"|`;"
_TITLE = re.compile(r"(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\))?+\s*+\)", re.S)
_POINTED = re.compile(r"<((?:[^<>\n\\]|\\.)*+)>")
_AUTOLINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}+:[^\s<>]*+\Z|[^\s<>@:]++@[^\s<>@:]++\Z")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}+:")
_TICKS = re.compile(r"`++")
_TARGET_CHARS, _LABEL_CHARS, _BLANK_CHARS = 2_000, 1_000, 200
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def find_links(text: str, parts: DocumentParts) -> list[Any]:
    """The links of all paragraphs in the order of the text: start, end, text, target. Images are no links."""
    found = []
    for start, end in parts.paragraphs:
        inside = text[start:end]
        if "[" in inside or "://" in inside or "<" in inside:
            found += [
                (start + first, start + last, words, target)
                for first, last, words, target in _links_in(inside, parts)
            ]
    found.sort(key=lambda link: link[0])
    return found


def _links_in(text: str, parts: DocumentParts) -> list[Any]:
    tokens = [(found.start(), found.group(0)) for found in _TOKEN.finditer(text)]
    reader = LinkReader(text, tokens, parts.targets)
    reader.read()
    return reader.links + _bare_urls(text, reader.taken)


class LinkReader:
    """The state between two signs of a paragraph: the open brackets, and what is taken as links, code or HTML."""

    def __init__(self, text: str, tokens: list[Any], targets: dict[str, str]) -> None:
        self.text = text
        self.tokens = tokens
        self.targets = targets
        self.closing = _pair_brackets(tokens)
        self.blanks = [start for start, sign in tokens if sign[0].isspace()]
        self.ticks = _list_ticks(text)
        self.open: list[Any] = []  # of each bracket: start, whether of an image, whether brackets are in it
        self.spent = 0  # so many of them, but for those of images, are in no link: links are not nested
        self.links: list[Any] = []
        self.taken: list[Any] = []

    def read(self) -> None:
        """Go over all signs; what a link or code takes is passed over."""
        end = 0
        for start, sign in self.tokens:
            if start < end:
                continue
            if sign[0] == "`":
                end = self._take_code(start, len(sign))
            elif sign[0] == "<" and len(sign) > 1:
                self._take_pointed(start, sign)
            elif sign == "[" or sign == "![":
                if self.open:
                    self.open[-1][2] = True
                self.open.append([start, sign == "![", False])
            elif sign == "]":
                end = self._close(start)

    def _take_code(self, start: int, length: int) -> int:
        """The end of the code that begins with these signs, or of the signs where nothing closes them."""
        ends = self.ticks.get(length, [])
        number = bisect.bisect_left(ends, start + length)
        if number == len(ends):
            return start + length
        self.taken.append((start, ends[number] + length))
        return int(ends[number] + length)

    def _take_pointed(self, start: int, sign: str) -> None:
        self.taken.append((start, start + len(sign)))
        inside = sign[1:-1]
        if _AUTOLINK.match(inside):
            target = inside if _SCHEME.match(inside) else f"mailto:{inside}"
            self.links.append((start, start + len(sign), inside, target))

    def _close(self, at: int) -> int:
        """Take the link that ends with the bracket at this character; returns where it ends."""
        if not self.open:
            return at + 1
        start, is_image, has_brackets = self.open.pop()
        is_spent = len(self.open) < self.spent
        self.spent = min(self.spent, len(self.open))
        if is_spent and not is_image:
            return at + 1
        first = start + (2 if is_image else 1)
        # A label has no brackets in it. Only what is a link is copied, as brackets may be nested without end.
        label = "" if has_brackets else self.text[first : min(at, first + _LABEL_CHARS)]
        target, end = self._read_target(at + 1, label)
        if target is None:
            return at + 1
        self.taken.append((start, end))
        if not is_image:
            words = self.text[first:at]
            self.links.append((start, end, " ".join(words.split()), target))
            self.spent = len(self.open)
        return end

    def _read_target(self, at: int, label: str) -> tuple[Any, int]:
        """The target of a link whose words, which may be its label, end here, or None; and where the link ends."""
        sign = self.text[at : at + 1]
        if sign == "(":
            target, end = self._read_inline(at)
            if target is not None:
                return target, end
        if not self.targets:
            return None, at
        close = self.closing.get(at) if sign == "[" else None
        if close is not None and close > at + 1:
            return self._find_label(self.text[at + 1 : min(close, at + _LABEL_CHARS)]), close + 1
        return self._find_label(label), at if close is None else close + 1

    def _find_label(self, label: str) -> Any:
        return self.targets.get(label_key(label)) if len(label) < _LABEL_CHARS else None

    def _read_inline(self, at: int) -> tuple[Any, int]:
        """The target in the round brackets that begin here, and where they end; None if it is none."""
        close = self.closing.get(at)
        if close is not None and self.text[at + 1] != "<":
            return _unescape(self.text[at + 1 : close]), close + 1
        first = at + 1 + _blank_at(self.text, at + 1)
        if self.text[first : first + 1] == "<":
            pointed = _POINTED.match(self.text[first : first + _TARGET_CHARS])
            return (None, at) if pointed is None else self._read_title(pointed.group(1), first + pointed.end())
        number = bisect.bisect_left(self.blanks, first)
        last = self.blanks[number] if number < len(self.blanks) else len(self.text)
        if last - first > _TARGET_CHARS:
            return None, at
        target = self.text[first:last]
        more = target.count(")") - target.count("(")
        if more == 1 and target.endswith(")"):
            return _unescape(target[:-1]), last
        return (None, at) if more else self._read_title(target, last)

    def _read_title(self, target: str, at: int) -> tuple[Any, int]:
        """The target with what may follow it: white space, a title and the closing bracket."""
        blank = _blank_at(self.text, at)
        found = _TITLE.match(self.text[at + blank : at + blank + _TARGET_CHARS])
        if found is None or (blank == 0 and found.group(0)[0] != ")"):
            return None, at
        return _unescape(target), at + blank + found.end()


def _pair_brackets(tokens: list[Any]) -> dict[int, int]:
    """The closing bracket of each round one without white space between, and of each square one without others."""
    closing: dict[int, int] = {}
    round_ones: list[int] = []
    square = -1
    for start, sign in tokens:
        if sign == "(":
            round_ones.append(start)
        elif sign == ")" and round_ones:
            closing[round_ones.pop()] = start
        elif sign[0].isspace():
            round_ones = []
        elif sign == "[":
            square = start
        elif sign == "![":
            square = -1
        elif sign == "]" and square >= 0:
            closing[square] = start
            square = -1
    return closing


def _list_ticks(text: str) -> dict[int, list[int]]:
    """Where runs of backticks begin, by their length."""
    found: dict[int, list[int]] = {}
    if "`" in text:
        for run in _TICKS.finditer(text):
            found.setdefault(run.end() - run.start(), []).append(run.start())
    return found


def _bare_urls(text: str, taken: list[Any]) -> list[Any]:
    """Addresses that are written out and in nothing that is taken, without the punctuation of the sentence."""
    if "://" not in text:
        return []
    taken = sorted(taken)
    links = []
    number = 0
    for found in _URL.finditer(text):
        while number < len(taken) and taken[number][1] <= found.start():
            number += 1
        # A link may hold others, as images do: the widest one begins first.
        if number < len(taken) and taken[number][0] <= found.start():
            continue
        url = _end_url(found.group(0))
        if number < len(taken):
            url = url[: max(taken[number][0] - found.start(), 0)]
        links.append((found.start(), found.start() + len(url), url, url))
    return links


def _end_url(url: str) -> str:
    """The address without the signs after it, and without a closing bracket that it does not open."""
    more = url.count(")") - url.count("(")
    length = len(url)
    while length and (url[length - 1] in _AFTER_URL or (url[length - 1] == ")" and more > 0)):
        more -= url[length - 1] == ")"
        length -= 1
    return url[:length]


def _blank_at(text: str, at: int) -> int:
    """The number of characters of white space from here on, of a few hundred."""
    rest = text[at : at + _BLANK_CHARS]
    return len(rest) - len(rest.lstrip())


def _unescape(text: str) -> str:
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


def label_key(label: str) -> str:
    """The form of a label of links by which it is found."""
    return " ".join(label.casefold().split())
