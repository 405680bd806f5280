r"""Interprets roff: strings, registers, conditions and macros of a page, and calls the macros of its package.

Only requests that change the text are executed: requests for layout (fonts, indents, tab stops, traps) do nothing,
and no request reads a file. ``.so FILE`` becomes the words "See FILE.". Definitions of a page can grow when they
are used, so the lines and characters that are processed are bounded, and so is the depth of macros and of strings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.manuals.escapes import continues, delimited_at, name_at, printed_text
from winnow.server.readers.manuals.expressions import evaluate, holds
from winnow.server.readers.manuals.page_draft import PageDraft, lines_of
from winnow.server.readers.manuals.tables import read_table

# A macro of a package; it gets the page and its raw arguments.
Macro = Callable[["Interpreter", Sequence[str]], None]

# Limits of the processed lines and characters: for each line and character of a page, and a constant. Real pages
# need less than twice their own length.
_LINES_FACTOR, _LINES = 20, 50_000
_CHARS_FACTOR, _CHARS = 20, 4 * 1024 * 1024
_TEXT_FACTOR, _TEXT_CHARS = 4, 64 * 1024
_DEEPEST_MACRO, _DEEPEST_STRING = 50, 20
_TOO_MUCH = "its macros expand without end, or to far more than a page; simplify it"
_TOO_DEEP = "its macros call each other too deeply; simplify it"

_CONTROL = re.compile(r"(?P<sign>[.'])[ \t]*(?P<name>[^\s\\]*)(?P<rest>.*)", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)\\[\"#].*", re.DOTALL)
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_BRACE = re.compile(r"\\([{}])")
_COPIED = re.compile(r"\\([\\.])")
_ARGUMENT = re.compile(
    r"\s+|\"(?P<quoted>(?:[^\"]|\"\")*)\"?|(?P<plain>(?:\\.|[^\s\\])(?:\\.|[^ \t\n\\])*)", re.DOTALL
)
_INTERPOLATED = re.compile(r"\\(?:[*n$w]|[^*n$w])", re.DOTALL)

_STRINGS = {
    "R": "\\(rg", "Tm": "\\(tm", "lq": "\\(lq", "rq": "\\(rq", "S": "", ".T": "utf8",
    "Lq": "\\(lq", "Rq": "\\(rq", "Le": "\\(<=", "Ge": "\\(>=", "Lt": "<", "Gt": ">", "Ne": "\\(!=", "Pm": "\\(+-",
    "Pi": "pi", "If": "infinity", "Na": "NaN", "Ba": "|", "Am": "&", "q": "\\(dq", "Aq": "'",
}  # fmt: skip
_REGISTERS = {".g": 1, ".s": 10, ".x": 1, ".y": 23, ".u": 1, ".l": 1872, ".j": 1, ".v": 40, ".H": 24, ".V": 40}
# The most that a register holds, as in roff.
_LARGEST = 2**31 - 1


@dataclass(slots=True)
class _Frame:
    """Lines that are being read: those of the page, or of a macro with its arguments."""

    lines: Sequence[str]
    arguments: Sequence[str] = ()
    name: str = ""
    at: int = 0


@dataclass(slots=True)
class Names:
    """The definitions of a page, and the title that its macros state."""

    strings: dict[str, str] = field(default_factory=lambda: dict(_STRINGS))
    registers: dict[str, int] = field(default_factory=lambda: dict(_REGISTERS))
    macros: dict[str, list[str]] = field(default_factory=dict)
    translated: dict[int, str] = field(default_factory=dict)
    title: str = ""


class Interpreter:
    """One page. ``packages`` has the macros of each package by the name of the macro that its pages begin with."""

    def __init__(self, text: str, packages: Mapping[str, Mapping[str, Macro]]) -> None:
        lines = text.split("\n")
        self.names = Names()
        self.draft = PageDraft(_TEXT_FACTOR * len(text) + _TEXT_CHARS)
        # The state that a package keeps between its macros.
        self.state: dict[str, object] = {}
        self._packages = packages
        self._package: Mapping[str, Macro] = {}
        self._frames = [_Frame(lines)]
        self._lines_left = _LINES_FACTOR * len(lines) + _LINES
        self._chars_left = _CHARS_FACTOR * len(text) + _CHARS
        self._otherwise: list[bool] = []

    # --- lines

    def run(self) -> None:
        """Interpret all lines. Raises ``UnreadableFile``."""
        self._run(0)

    def render(self, lines: Sequence[str]) -> str:
        """The printed text of these lines, as one line."""
        draft, self.draft = self.draft, PageDraft(_TEXT_FACTOR * sum(map(len, lines)) + _TEXT_CHARS)
        depth = len(self._frames)
        try:
            self._push(lines, self._frames[-1].arguments if self._frames else ())
            self._run(depth)
            return " ".join(lines_of(self.draft.finish()))
        finally:
            self.draft = draft

    def _run(self, depth: int) -> None:
        while (line := self._next_line(depth)) is not None:
            self.execute(line)

    def _next_line(self, depth: int = 0) -> str | None:
        """The next line of input, joined with its continuation lines, without a comment."""
        line = self._raw_line(depth)
        if line is None:
            return None
        if "\\" in line:
            line = self._without_comment(line, depth)
            parts = []
            while _CONTINUED.search(line) and (following := self._raw_line(depth)) is not None:
                parts.append(line[:-1])
                line = self._without_comment(following, depth)
            line = "".join((*parts, line))
        return line

    def _without_comment(self, line: str, depth: int) -> str:
        if "\\#" in line and (found := _COMMENT.search(line)) and line[found.end(1) :].startswith("\\#"):
            following = self._raw_line(depth)
            return line[: found.end(1)] + (following or "")
        return _COMMENT.sub(r"\1", line) if '\\"' in line else line

    def _raw_line(self, depth: int = 0) -> str | None:
        while len(self._frames) > depth:
            frame = self._frames[-1]
            if frame.at < len(frame.lines):
                frame.at += 1
                line = frame.lines[frame.at - 1]
                self._charge(1, len(line))
                return line
            self._frames.pop()
        return None

    def _push(self, lines: Sequence[str], arguments: Sequence[str], name: str = "") -> None:
        if len(self._frames) > _DEEPEST_MACRO:
            raise UnreadableFile(_TOO_DEEP)
        self._frames.append(_Frame(lines, arguments, name))

    def _charge(self, lines: int, characters: int) -> None:
        self._lines_left -= lines
        self._chars_left -= characters
        if self._lines_left < 0 or self._chars_left < 0:
            raise UnreadableFile(_TOO_MUCH)

    def execute(self, line: str) -> None:
        """Interpret one line: a request, a macro, or text."""
        found = _CONTROL.fullmatch(line) if line[:1] in (".", "'") else None
        if found is None:
            self._print(line)
            return
        name = found["name"]
        if name.startswith("\\"):
            return
        request = _REQUESTS.get(name)
        if name in self.names.macros:
            self._call(name, found["rest"])
        elif request is not None:
            request(self, found["rest"])
        elif name in self._package or name in self._packages:
            self.call_package(name, split_arguments(self.interpolate(found["rest"])))

    def call_package(self, name: str, arguments: Sequence[str]) -> None:
        """Call a macro of the package; the first macro of a page chooses the package."""
        if not self._package:
            self._package = self._packages.get(name, {})
        if macro := self._package.get(name):
            macro(self, arguments)

    def _call(self, name: str, rest: str) -> None:
        self._push(self.names.macros[name], split_arguments(self.interpolate(rest)), name)

    def _print(self, line: str) -> None:
        if not line.strip(" \t"):
            self.draft.paragraph()
            return
        self.print_raw(_BRACE.sub("", self.interpolate(line)))

    # --- text

    def print_raw(self, raw: str, *, glued: bool = False) -> None:
        """Print a text in which strings are already interpolated."""
        self.draft.text(self.printed(raw), glued=glued, glues=continues(raw))

    def printed(self, raw: str) -> str:
        """The printed form of a text in which strings are already interpolated."""
        text = printed_text(raw)
        return text.translate(self.names.translated) if self.names.translated else text

    def interpolate(self, text: str, depth: int = 0) -> str:
        """The text with strings, registers, arguments and widths in place of their escapes."""
        if "\\" not in text:
            return text
        if depth > _DEEPEST_STRING:
            raise UnreadableFile(_TOO_DEEP)
        parts, at = [], 0
        while found := _INTERPOLATED.search(text, at):
            parts.append(text[at : found.start()])
            letter, at = found[0][1:], found.end()
            if letter in ("*", "n", "$", "w"):
                value, at = self._value_at(letter, text, at, depth)
                self._charge(0, len(value))
                parts.append(value)
            else:
                parts.append(found[0])
        parts.append(text[at:])
        return "".join(parts)

    def _value_at(self, letter: str, text: str, at: int, depth: int) -> tuple[str, int]:
        if letter == "w":
            inside, end = delimited_at(text, at)
            return str(24 * len(printed_text(self.interpolate(inside, depth + 1)))), end
        step = text[at : at + 1] if letter == "n" and text[at : at + 1] in ("+", "-") else ""
        name, end = name_at(text, at + len(step))
        if "\\" in name:
            name = self.interpolate(name, depth + 1)
        if letter == "$":
            return self._argument(name), end
        if letter == "n":
            if name == ".$":
                return str(len(self._macro_arguments())), end
            return str(self.names.registers.get(name, 0)), end
        return self.interpolate(self.names.strings.get(name.partition(" ")[0], ""), depth + 1), end

    def _macro_arguments(self) -> Sequence[str]:
        return self._frames[-1].arguments if self._frames else ()

    def _argument(self, name: str) -> str:
        arguments = self._macro_arguments()
        if name == "0":
            return self._frames[-1].name
        if name == "*":
            return " ".join(arguments)
        if name == "@":
            return " ".join(f'"{each}"' for each in arguments)
        number = int(name) if name.isascii() and name.isdigit() and len(name) < 4 else 0
        return arguments[number - 1] if 0 < number <= len(arguments) else ""

    # --- requests

    def _define_macro(self, rest: str, *, appends: bool = False) -> None:
        words = split_arguments(self.interpolate(rest))
        name, end = words[0] if words else "", words[1] if len(words) > 1 else "."
        body = [_COPIED.sub(r"\1", line) for line in self._skip_to(end)]
        if appends and name not in self.names.macros and any(name in macros for macros in self._packages.values()):
            return  # additions to a macro of a package only change the layout
        before = self.names.macros.get(name, []) if appends else []
        self._charge(len(before) + len(body), 0)
        if name:
            self.names.macros[name] = before + body

    def _append_macro(self, rest: str) -> None:
        self._define_macro(rest, appends=True)

    def _ignore_lines(self, rest: str) -> None:
        self._skip_to((rest.split() or ["."])[0])

    def _skip_to(self, end: str) -> list[str]:
        """The lines before the request ``end``."""
        skipped = []
        last = re.compile(rf"[.'][ \t]*{re.escape(end)}(?!\w)")
        while (line := self._raw_line()) is not None and not last.match(line):
            skipped.append(line)
        return skipped

    def _define_string(self, rest: str, *, appends: bool = False) -> None:
        found = re.match(r"\s*(\S+) ?(.*)", rest, re.DOTALL)
        if not found:
            return
        name, value = found.groups()
        value = value.lstrip(" ").removeprefix('"')
        value = _COPIED.sub(r"\1", self.interpolate(value))
        before = self.names.strings.get(name, "") if appends else ""
        self._charge(0, len(before) + len(value))
        self.names.strings[name] = before + value

    def _append_string(self, rest: str) -> None:
        self._define_string(rest, appends=True)

    def _set_register(self, rest: str) -> None:
        words = self.interpolate(rest).split()
        if not words:
            return
        written = words[1] if len(words) > 1 else "0"
        value = evaluate(written.lstrip("+") if written[:1] == "+" else written)
        if written[:1] in ("+", "-"):
            value += self.names.registers.get(words[0], 0)
        self.names.registers[words[0]] = max(-_LARGEST, min(value, _LARGEST))

    def _remove(self, rest: str) -> None:
        for name in rest.split():
            self.names.macros.pop(name, None)
            self.names.strings.pop(name, None)

    def _rename(self, rest: str) -> None:
        self._alias(rest, keeps=False)

    def _alias(self, rest: str, *, keeps: bool = True) -> None:
        words = rest.split()
        if len(words) < 2:
            return
        new, old = words[:2] if keeps else words[1::-1]
        if old in self.names.macros:
            self.names.macros[new] = self.names.macros[old]
            if not keeps:
                del self.names.macros[old]
        elif old in self.names.strings:
            self.names.strings[new] = self.names.strings[old]
        elif keeps and new not in self._package:
            self.names.macros[new] = [f".{old} \\$@"]

    def _translate(self, rest: str) -> None:
        characters = _characters_of(self.interpolate(rest.lstrip(" ")))
        for source, target in zip(characters[::2], [*characters[1::2], " "], strict=False):
            if len(source) == 1:
                self.names.translated[ord(source)] = target

    def _if(self, rest: str) -> None:
        self._choose(*self._test(rest))

    def _if_else(self, rest: str) -> None:
        is_true, body = self._test(rest)
        self._otherwise.append(not is_true)
        self._choose(is_true, body)

    def _else(self, rest: str) -> None:
        self._choose(self._otherwise.pop() if self._otherwise else False, rest)

    def _test(self, rest: str) -> tuple[bool, str]:
        names = self.names
        known = {*names.macros, *names.strings, *self._package, *_REQUESTS}
        return holds(self.interpolate(rest).lstrip(" \t"), names.registers, known)

    def _choose(self, is_true: bool, body: str) -> None:
        """Execute the rest of a condition, or skip it with the block that it opens."""
        body = body.lstrip(" \t")
        if is_true:
            line = _BRACE.sub("", body).lstrip(" \t") if body.startswith(("\\{", "\\}")) else body
            if line:
                self._push([line], self._macro_arguments(), self._frames[-1].name if self._frames else "")
            return
        open_blocks = _count_blocks(body)
        while open_blocks > 0 and (line_ := self._raw_line()) is not None:
            open_blocks += _count_blocks(line_)

    def _return(self, rest: str) -> None:
        """Leave the macro."""
        while len(self._frames) > 1 and not self._frames[-1].name:
            self._frames.pop()
        if len(self._frames) > 1:
            self._frames.pop()

    def _shift(self, rest: str) -> None:
        frame = next((frame for frame in reversed(self._frames) if frame.name), None)
        if frame:
            frame.arguments = frame.arguments[1:]

    def _again(self, rest: str) -> None:
        """``.do REQUEST`` and ``.nop TEXT``."""
        self._push([rest.lstrip(" \t")], self._macro_arguments(), self._frames[-1].name if self._frames else "")

    def _do(self, rest: str) -> None:
        self._again(f".{rest.lstrip()}")

    def _break(self, rest: str) -> None:
        self.draft.break_line()

    def _space(self, rest: str) -> None:
        self.draft.paragraph()

    def _begin_code(self, rest: str) -> None:
        self.draft.begin_code()

    def _end_code(self, rest: str) -> None:
        self.draft.leave_code()

    def _include(self, rest: str) -> None:
        if name := self.printed(rest.strip().strip('"')):
            self.draft.text(f"See {name}.")

    def _load_package(self, rest: str) -> None:
        """``.mso www.tmac`` has macros for links, which replace those that a page defines for other programs."""
        if rest.strip() == "www.tmac":
            for name in ("URL", "MTO"):
                self.names.macros.pop(name, None)

    def _table(self, rest: str) -> None:
        self.draft.table(read_table(self._skip_to("TE"), self.render))

    def _skip_drawing(self, rest: str) -> None:
        self._skip_to("PE")

    def _skip_loop(self, rest: str) -> None:
        self._choose(False, rest)

    def _end_page(self, rest: str) -> None:
        """``.ex``, ``.nx`` and ``.ab``: nothing is read after them."""
        self._frames.clear()


def split_arguments(text: str) -> list[str]:
    """The arguments of a macro: between white space, or quotation marks; a doubled mark within them is one."""
    found = (each for each in _ARGUMENT.finditer(text) if not each[0].isspace())
    return [each["plain"] if each["quoted"] is None else each["quoted"].replace('""', '"') for each in found]


def _characters_of(text: str) -> list[str]:
    """The characters that a text prints, each escape for itself."""
    return [printed_text(each) for each in re.findall(r"\\\(..|\\\[[^\]]*\]|\\\*.|\\.|.", text, re.DOTALL)]


def _count_blocks(line: str) -> int:
    return sum(1 if sign == "{" else -1 for sign in _BRACE.findall(line)) if "\\" in line else 0


_REQUESTS: Mapping[str, Callable[[Interpreter, str], None]] = {
    "de": Interpreter._define_macro,
    "de1": Interpreter._define_macro,
    "dei": Interpreter._define_macro,
    "am": Interpreter._append_macro,
    "am1": Interpreter._append_macro,
    "ig": Interpreter._ignore_lines,
    "ds": Interpreter._define_string,
    "ds1": Interpreter._define_string,
    "as": Interpreter._append_string,
    "as1": Interpreter._append_string,
    "nr": Interpreter._set_register,
    "rm": Interpreter._remove,
    "rn": Interpreter._rename,
    "als": Interpreter._alias,
    "tr": Interpreter._translate,
    "if": Interpreter._if,
    "ie": Interpreter._if_else,
    "el": Interpreter._else,
    "while": Interpreter._skip_loop,
    "return": Interpreter._return,
    "shift": Interpreter._shift,
    "do": Interpreter._do,
    "nop": Interpreter._again,
    "br": Interpreter._break,
    "brp": Interpreter._break,
    "ti": Interpreter._break,
    "in": Interpreter._break,
    "ce": Interpreter._break,
    "sp": Interpreter._space,
    "bp": Interpreter._space,
    "nf": Interpreter._begin_code,
    "fi": Interpreter._end_code,
    "so": Interpreter._include,
    "ex": Interpreter._end_page,
    "ab": Interpreter._end_page,
    "mso": Interpreter._load_package,
    "TS": Interpreter._table,
    "PS": Interpreter._skip_drawing,
}
