"""The macros of mdoc(7) at the beginning of a line, and the text that macros within a line produce."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import cast

from winnow.server.readers.manuals.interpreter import Interpreter, Macro
from winnow.server.readers.manuals.mdoc_lines import ENCLOSURES, WITHIN_LINES, MdocLine, MdocState

_STATE = "mdoc"
_CODE_DISPLAYS = frozenset({"-literal", "-unfilled"})
_TAGGED = frozenset({"-tag", "-hang", "-ohang", "-inset", "-diag"})
_REFERENCE_ORDER = "AQBITJNVPRCUDO"

_LIBRARIES = {
    "libbsd": "Utility functions from BSD systems", "libc": "Standard C Library", "libcrypt": "Crypt Library",
    "libcurses": "Curses Library", "libedit": "Command Line Editor Library", "libelf": "ELF Access Library",
    "libkvm": "Kernel Data Access Library", "libm": "Math Library", "libpcap": "Packet Capture Library",
    "libpthread": "POSIX Threads Library", "librt": "POSIX Real-time Library",
    "libutil": "System Utilities Library",
    "libz": "Compression Library",
}  # fmt: skip


def _state(page: Interpreter) -> MdocState:
    return cast("MdocState", page.state.setdefault(_STATE, MdocState()))


def _write(page: Interpreter, arguments: Sequence[str]) -> None:
    """Print macros and words of a line."""
    line = MdocLine(_state(page), page.printed)
    line.add(arguments)
    if line.text or line.glues:
        _emit(page, line.text, glued=line.is_glued, glues=line.glues)


def _emit(page: Interpreter, text: str, *, glued: bool = False, glues: bool = False) -> None:
    state = _state(page)
    if state.cells is not None:
        state.cells[-1] = f"{state.cells[-1]} {text}".strip()
    else:
        page.draft.text(text, glued=glued, glues=glues)


def _in_line(page: Interpreter, arguments: Sequence[str], *, name: str) -> None:
    state = _state(page)
    if name in ("Nm", "Fn", "Ft", "In", "Vt", "Fd", "Cd") and state.section == "SYNOPSIS":
        page.draft.break_line()
    if name == "Nm" and arguments and not state.name:
        state.name = page.printed(arguments[0])
    if name == "Nd":
        page.draft.text(f"— {page.printed(' '.join(arguments))}")
        return
    _write(page, (name, *arguments))
    if name in ("Ft", "Fd", "In") and state.section == "SYNOPSIS":
        page.draft.break_line()


def _title(page: Interpreter, arguments: Sequence[str]) -> None:
    name, section = [*map(page.printed, arguments), "", ""][:2]
    page.names.title = f"{name}({section})" if name and section else name
    if page.names.title:
        page.draft.heading(1, page.names.title)


def _heading(page: Interpreter, arguments: Sequence[str], *, level: int) -> None:
    line = MdocLine(_state(page), page.printed)
    line.add(arguments)
    if level == 2:
        _state(page).section = line.text.upper()
    page.draft.heading(level, line.text)


def _paragraph(page: Interpreter, arguments: Sequence[str]) -> None:
    page.draft.paragraph()


def _begin_list(page: Interpreter, arguments: Sequence[str]) -> None:
    state = _state(page)
    kind = arguments[0] if arguments else "-item"
    _end_row(page)
    state.lists.append((kind, 0))
    state.rows.append([])
    page.draft.begin_level()


def _end_list(page: Interpreter, arguments: Sequence[str]) -> None:
    state = _state(page)
    _end_row(page)
    if state.lists:
        kind, _ = state.lists.pop()
        rows = state.rows.pop()
        if kind == "-column" and rows:
            page.draft.table(rows)
        page.draft.end_level()


def _item(page: Interpreter, arguments: Sequence[str]) -> None:
    state = _state(page)
    _end_row(page)
    kind, number = state.lists[-1] if state.lists else ("-item", 0)
    if state.lists:
        state.lists[-1] = kind, number + 1
    if kind == "-column":
        state.cells = [""]
        _cells(page, arguments)
    elif kind in _TAGGED:
        is_open = "Xo" in arguments and "Xc" not in arguments
        page.draft.begin_tag(keeps_open=is_open)
        _write(page, arguments)
        if not is_open:
            page.draft.end_tag()
    else:
        if kind == "-item":
            page.draft.paragraph()
        else:
            page.draft.begin_item(f"{number + 1}." if kind == "-enum" else "•")
        _write(page, arguments)


def _cells(page: Interpreter, arguments: Sequence[str]) -> None:
    """The cells of a row: separated by "Ta", or by tabs."""
    state = _state(page)
    assert state.cells is not None
    words: list[str] = []
    for word in (part for each in arguments for part in _split_tabs(each)):
        if word in ("Ta", "\t"):
            _write(page, words)
            words = []
            state.cells.append("")
        else:
            words.append(word)
    _write(page, words)


def _split_tabs(word: str) -> list[str]:
    parts = word.split("\t")
    return [each for part in parts for each in (part, "\t") if each][: 2 * len(parts) - 1]


def _end_row(page: Interpreter) -> None:
    state = _state(page)
    if state.cells is not None and state.rows:
        state.rows[-1].append(state.cells)
    state.cells = None


def _next_cell(page: Interpreter, arguments: Sequence[str]) -> None:
    if _state(page).cells is not None:
        _cells(page, ("Ta", *arguments))


def _begin_display(page: Interpreter, arguments: Sequence[str]) -> None:
    is_code = any(each in _CODE_DISPLAYS for each in arguments)
    _state(page).displays.append(is_code)
    page.draft.paragraph()
    if is_code:
        page.draft.begin_code()


def _end_display(page: Interpreter, arguments: Sequence[str]) -> None:
    displays = _state(page).displays
    if displays and displays.pop():
        page.draft.leave_code()
    page.draft.paragraph()


def _one_line_display(page: Interpreter, arguments: Sequence[str], *, is_code: bool) -> None:
    page.draft.paragraph()
    if is_code:
        page.draft.begin_code()
    _write(page, arguments)
    page.draft.leave_code()
    page.draft.paragraph()


def _end_scope(page: Interpreter, arguments: Sequence[str]) -> None:
    """``.Xc``: the end of what ``Xo`` began, the tag of an item as a rule."""
    _write(page, arguments)
    page.draft.end_tag()


def _function(page: Interpreter, arguments: Sequence[str]) -> None:
    """``.Fo NAME``: the arguments follow in ``.Fa``, and the end is ``.Fc``."""
    if _state(page).section == "SYNOPSIS":
        page.draft.break_line()
    _state(page).function = [page.printed(" ".join(arguments))]


def _function_argument(page: Interpreter, arguments: Sequence[str]) -> None:
    function = _state(page).function
    if function is None:
        _write(page, ("Fa", *arguments))
    else:
        function += [page.printed(each) for each in arguments]


def _end_function(page: Interpreter, arguments: Sequence[str]) -> None:
    function, _state(page).function = _state(page).function, None
    if function:
        after = page.printed("".join(arguments)) or (";" if _state(page).section == "SYNOPSIS" else "")
        _emit(page, f"{function[0]}({', '.join(function[1:])}){after}")


def _begin_reference(page: Interpreter, arguments: Sequence[str]) -> None:
    _state(page).reference = {}


def _reference_part(page: Interpreter, arguments: Sequence[str], *, name: str) -> None:
    reference = _state(page).reference
    text = page.printed(" ".join(arguments))
    if reference is None:
        _emit(page, text)
    else:
        reference.setdefault(name, []).append(text)


def _end_reference(page: Interpreter, arguments: Sequence[str]) -> None:
    reference, _state(page).reference = _state(page).reference, None
    if reference:
        parts = [_authors(reference[name]) if name == "A" else ", ".join(reference[name])
                 for name in _REFERENCE_ORDER if name in reference]  # fmt: skip
        _emit(page, ", ".join(parts) + ".")


def _authors(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _library(page: Interpreter, arguments: Sequence[str]) -> None:
    name = page.printed(arguments[0]) if arguments else ""
    title = _LIBRARIES.get(name)
    _emit(page, f"{title} ({name}, -l{name.removeprefix('lib')})" if title else f"library “{name}”")


def _exit_status(page: Interpreter, arguments: Sequence[str]) -> None:
    names = [page.printed(each) for each in arguments[1:]] or [_state(page).name]
    many = len(names) > 1
    subject = f"The {_authors(names)} {'utilities exit' if many else 'utility exits'}"
    _emit(page, f"{subject} 0 on success, and >0 if an error occurs.")


def _return_values(page: Interpreter, arguments: Sequence[str]) -> None:
    names = [f"{page.printed(each)}()" for each in arguments[1:]]
    if names:
        joined = names[0] if len(names) == 1 else f"{', '.join(names[:-1])}, and {names[-1]}"
        verb = "functions return" if len(names) > 1 else "function returns"
        success = f"The {joined} {verb} the value 0 if successful"
    else:
        success = "Upon successful completion, the value 0 is returned"
    _emit(
        page,
        f"{success}; otherwise the value -1 is returned and the global variable errno is set to indicate "
        "the error.",
    )


def _author(page: Interpreter, arguments: Sequence[str]) -> None:
    if arguments and arguments[0] not in ("-split", "-nosplit"):
        _in_line(page, arguments, name="An")


def _ignore(page: Interpreter, arguments: Sequence[str]) -> None:
    """Do nothing: the macro prints no text."""


def _within_lines(name: str) -> Macro:
    return partial(_in_line, name=name)


_SPECIAL: Mapping[str, Callable[..., None]] = {
    "Dt": _title,
    "Sh": partial(_heading, level=2),
    "Ss": partial(_heading, level=3),
    "Pp": _paragraph,
    "Lp": _paragraph,
    "Bl": _begin_list,
    "El": _end_list,
    "It": _item,
    "Ta": _next_cell,
    "Bd": _begin_display,
    "Ed": _end_display,
    "D1": partial(_one_line_display, is_code=False),
    "Dl": partial(_one_line_display, is_code=True),
    "Xc": _end_scope,
    "Fo": _function,
    "Fa": _function_argument,
    "Fc": _end_function,
    "Rs": _begin_reference,
    "Re": _end_reference,
    **{f"%{name}": partial(_reference_part, name=name) for name in _REFERENCE_ORDER},
    "Lb": _library,
    "Ex": _exit_status,
    "Rv": _return_values,
    "An": _author,
    **dict.fromkeys(("Dd", "Os", "Bk", "Ek", "Bf", "Ef", "Tg", "Hf"), _ignore),
}
MACROS: Mapping[str, Macro] = MappingProxyType(
    {name: _within_lines(name) for name in (*WITHIN_LINES, *ENCLOSURES)} | dict(_SPECIAL)
)
