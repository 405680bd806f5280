"""The macros of man(7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from winnow.server.readers.manuals.escapes import continues
from winnow.server.readers.manuals.interpreter import Interpreter, Macro

_ADDRESS = "man.address"
_SYNOPSIS = "man.synopsis"


def _title(page: Interpreter, arguments: Sequence[str]) -> None:
    name, section = [*map(page.printed, arguments), "", ""][:2]
    page.names.title = f"{name}({section})" if name and section else name
    page.draft.heading(1, page.names.title) if page.names.title else None


def _heading(page: Interpreter, arguments: Sequence[str], *, level: int) -> None:
    page.draft.heading(level, page.printed(" ".join(arguments)))


def _paragraph(page: Interpreter, arguments: Sequence[str]) -> None:
    page.draft.paragraph()
    page.draft.end_item()


def _indented(page: Interpreter, arguments: Sequence[str]) -> None:
    """``.IP [TAG]``: an item; without a tag, a further paragraph of the previous item."""
    tag = page.printed(arguments[0]).strip() if arguments else ""
    if tag:
        page.draft.begin_item(tag)
    else:
        page.draft.end_tag()
        page.draft.paragraph()


def _tagged(page: Interpreter, arguments: Sequence[str]) -> None:
    page.draft.begin_tag()


def _further_tag(page: Interpreter, arguments: Sequence[str]) -> None:
    """``.TQ``: another tag of the item that has just begun."""
    if page.draft.has_bare_tag:
        page.draft.add_tag()
    else:
        page.draft.begin_tag()


def _hanging(page: Interpreter, arguments: Sequence[str]) -> None:
    _paragraph(page, arguments)


def _begin_level(page: Interpreter, arguments: Sequence[str]) -> None:
    page.draft.begin_level()


def _end_level(page: Interpreter, arguments: Sequence[str]) -> None:
    page.draft.end_level()


def _one_font(page: Interpreter, arguments: Sequence[str]) -> None:
    """``.B WORDS``; without words it means the next line, which is text anyway."""
    if arguments:
        page.print_raw(" ".join(arguments))


def _two_fonts(page: Interpreter, arguments: Sequence[str]) -> None:
    if arguments:
        page.print_raw("".join(arguments))


def _address(page: Interpreter, arguments: Sequence[str]) -> None:
    """``.UR ADDRESS``: its text follows, and its end is ``.UE``."""
    page.state[_ADDRESS] = page.printed(arguments[0]) if arguments else ""


def _end_address(page: Interpreter, arguments: Sequence[str]) -> None:
    address = page.state.pop(_ADDRESS, "")
    after = arguments[0] if arguments else ""
    page.draft.text(
        f"⟨{address}⟩{page.printed(after)}" if address else page.printed(after), glues=continues(after)
    )


def _linked(page: Interpreter, arguments: Sequence[str]) -> None:
    """``.URL ADDRESS TEXT AFTER`` of www.tmac."""
    address, text, after = [*arguments, "", "", ""][:3]
    page.print_raw(f"{text} \\[la]{address}\\[ra]{after}".lstrip())


def _synopsis(page: Interpreter, arguments: Sequence[str]) -> None:
    if page.state.get(_SYNOPSIS):
        page.draft.break_line()
    else:
        page.draft.paragraph()
    page.state[_SYNOPSIS] = True
    page.print_raw(" ".join(arguments))


def _end_synopsis(page: Interpreter, arguments: Sequence[str]) -> None:
    page.state[_SYNOPSIS] = False
    page.draft.paragraph()


def _option(page: Interpreter, arguments: Sequence[str]) -> None:
    page.print_raw(f"[{' '.join(arguments)}]")


def _begin_code(page: Interpreter, arguments: Sequence[str]) -> None:
    page.draft.begin_code()


def _end_code(page: Interpreter, arguments: Sequence[str]) -> None:
    page.draft.leave_code()


MACROS: Mapping[str, Macro] = MappingProxyType(
    {
        "TH": _title,
        "SH": partial(_heading, level=2),
        "SS": partial(_heading, level=3),
        "PP": _paragraph,
        "P": _paragraph,
        "LP": _paragraph,
        "HP": _hanging,
        "IP": _indented,
        "TP": _tagged,
        "TQ": _further_tag,
        "RS": _begin_level,
        "RE": _end_level,
        **dict.fromkeys(("B", "I", "SM", "SB", "R"), _one_font),
        **dict.fromkeys(("BI", "BR", "IB", "IR", "RB", "RI"), _two_fonts),
        "UR": _address,
        "UE": _end_address,
        "MT": _address,
        "ME": _end_address,
        "URL": _linked,
        "MTO": _linked,
        "SY": _synopsis,
        "YS": _end_synopsis,
        "OP": _option,
        "EX": _begin_code,
        "EE": _end_code,
    }
)
