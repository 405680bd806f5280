"""Macros of mdoc(7) within a line: ``.Op Fl o Ar file`` prints ``[-o file]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

_CLOSING = frozenset(".,:;)]?!")
_OPENING = frozenset("([")
# Macros that enclose the rest of their line, and macros that enclose the text up to another macro.
ENCLOSED: Mapping[str, tuple[str, str]] = {
    "Op": ("[", "]"), "Pq": ("(", ")"), "Bq": ("[", "]"), "Brq": ("{", "}"), "Aq": ("⟨", "⟩"),
    "Dq": ("“", "”"), "Sq": ("‘", "’"), "Qq": ('"', '"'), "Ql": ("‘", "’"), "En": ("", ""),
}  # fmt: skip
_BEGIN: Mapping[str, str] = {
    "Oo": "[", "Po": "(", "Bo": "[", "Bro": "{", "Ao": "⟨", "Do": "“", "So": "‘", "Qo": '"', "Xo": "",
}  # fmt: skip
_END: Mapping[str, str] = {
    "Oc": "]", "Pc": ")", "Bc": "]", "Brc": "}", "Ac": "⟩", "Dc": "”", "Sc": "’", "Qc": '"', "Xc": "",
}  # fmt: skip
_SYSTEMS: Mapping[str, str] = {
    "Ux": "UNIX", "Nx": "NetBSD", "Fx": "FreeBSD", "Ox": "OpenBSD", "Dx": "DragonFly", "Bsx": "BSD/OS",
}  # fmt: skip
_AT_AND_T = {
    "v1": "Version 1 AT&T UNIX", "v2": "Version 2 AT&T UNIX", "v3": "Version 3 AT&T UNIX",
    "v4": "Version 4 AT&T UNIX", "v5": "Version 5 AT&T UNIX", "v6": "Version 6 AT&T UNIX",
    "v7": "Version 7 AT&T UNIX", "32v": "Version 32V AT&T UNIX", "III": "AT&T System III UNIX",
    "V": "AT&T System V UNIX", "V.1": "AT&T System V Release 1 UNIX", "V.2": "AT&T System V Release 2 UNIX",
    "V.3": "AT&T System V Release 3 UNIX", "V.4": "AT&T System V Release 4 UNIX",
}  # fmt: skip
_STANDARDS = {
    "-ansiC": "ANSI X3.159-1989 (“ANSI C89”)", "-ansiC-89": "ANSI X3.159-1989 (“ANSI C89”)",
    "-isoC": "ISO/IEC 9899:1990 (“ISO C90”)", "-isoC-90": "ISO/IEC 9899:1990 (“ISO C90”)",
    "-isoC-99": "ISO/IEC 9899:1999 (“ISO C99”)", "-isoC-2011": "ISO/IEC 9899:2011 (“ISO C11”)",
    "-p1003.1": "IEEE Std 1003.1 (“POSIX.1”)", "-p1003.1-88": "IEEE Std 1003.1-1988 (“POSIX.1”)",
    "-p1003.1-90": "IEEE Std 1003.1-1990 (“POSIX.1”)", "-p1003.1-96": "ISO/IEC 9945-1:1996 (“POSIX.1”)",
    "-p1003.1-2001": "IEEE Std 1003.1-2001 (“POSIX.1”)", "-p1003.1-2004": "IEEE Std 1003.1-2004 (“POSIX.1”)",
    "-p1003.1-2008": "IEEE Std 1003.1-2008 (“POSIX.1”)", "-p1003.2": "IEEE Std 1003.2 (“POSIX.2”)",
    "-p1003.2-92": "IEEE Std 1003.2-1992 (“POSIX.2”)",
    "-susv2": "Version 2 of the Single UNIX Specification (“SUSv2”)",
    "-susv3": "Version 3 of the Single UNIX Specification (“SUSv3”)",
    "-susv4": "Version 4 of the Single UNIX Specification (“SUSv4”)",
    "-xpg4": "X/Open Portability Guide Issue 4 (“XPG4”)",
    "-xpg4.2": "X/Open Portability Guide Issue 4, Version 2 (“XPG4.2”)",
}  # fmt: skip
_PLAIN = """
    Ad An Ar Cd Cm Dv Em Er Ev Fa Fd Fl Fn Fr Ft Ic In Li Lk Ms Mt Nd Nm No Ot Pa Sx Sy Tn Va Vt Xr
    Ap Ns Pf Sm Bx At St Ud Bt Db Eo Ec Es
"""
WITHIN_LINES = (*_PLAIN.split(), *_SYSTEMS, *_BEGIN, *_END)
ENCLOSURES = tuple(ENCLOSED)
_CALLED = frozenset((*WITHIN_LINES, *ENCLOSURES, "Ta"))
# These take one argument; what follows is text.
_ONE_ARGUMENT = frozenset(("Pf", "Sm", "At", "Bx", "St", "Eo"))


@dataclass(slots=True)
class MdocState:
    """The state that the macros of a page keep between lines."""

    name: str = ""
    section: str = ""
    is_spaced: bool = True
    lists: list[tuple[str, int]] = field(default_factory=list)
    rows: list[list[list[str]]] = field(default_factory=list)
    cells: list[str] | None = None
    displays: list[bool] = field(default_factory=list)
    function: list[str] | None = None
    reference: dict[str, list[str]] | None = None


class MdocLine:
    """The text of a line of macros and words. ``printed`` gives what a raw text prints."""

    def __init__(self, state: MdocState, printed: Callable[[str], str]) -> None:
        self.text = ""
        # Whether there is no blank between the text and the previous line, and between the text and the next line.
        self.is_glued = self.glues = False
        self._state = state
        self._printed = printed

    def add(self, words: Sequence[str]) -> None:
        """Add macros and words."""
        at, ends = 0, []
        while at < len(words):
            word = words[at]
            if word in ENCLOSED:
                opening, closing = ENCLOSED[word]
                # Punctuation at the end of a line comes after the enclosed text.
                last = len(words)
                while last > at + 1 and words[last - 1] in _CLOSING:
                    last -= 1
                self._put(opening, glues=True)
                ends.append(closing)
                tail, words = words[last:], words[:last]
                if tail:
                    self.add(words[at + 1 :])
                    self._close(ends)
                    self.add(tail)
                    return
                at += 1
            elif word in _CALLED:
                at = self._macro(word, words, at + 1)
            else:
                self._word(word)
                at += 1
        self._close(ends)

    def _close(self, ends: list[str]) -> None:
        while ends:
            self._put(ends.pop(), glued=True)

    def _macro(self, name: str, words: Sequence[str], at: int) -> int:
        """Print a macro with its arguments; return the index after the last of them."""
        end = at
        while end < len(words) and words[end] not in _CALLED and words[end] not in ENCLOSED:
            end += 1
        if name in _ONE_ARGUMENT:
            end = min(end, at + 1)
        arguments = words[at:end]
        # Punctuation before and after the arguments is not marked up.
        while arguments and arguments[0] in _OPENING and len(arguments[0]) == 1 and name not in _ONE_ARGUMENT:
            self._word(arguments[0])
            arguments = arguments[1:]
        tail: list[str] = []
        while arguments and arguments[-1] in _CLOSING and name not in _ONE_ARGUMENT:
            tail.insert(0, arguments[-1])
            arguments = arguments[:-1]
        self._print(name, arguments, is_followed=end < len(words) and words[end] in _CALLED)
        for each in tail:
            self._word(each)
        return end

    def _print(self, name: str, arguments: Sequence[str], *, is_followed: bool) -> None:
        texts = [self._printed(each) for each in arguments]
        match name:
            case "Fl":
                self._flags(texts, is_followed=is_followed)
            case "Nm":
                self._words([" ".join(texts) or self._state.name])
            case "Ar":
                self._words(texts or ["file", "..."])
            case "Pa":
                self._words(texts or ["~"])
            case "Xr":
                self._words([f"{texts[0]}({texts[1]})" if len(texts) > 1 else "".join(texts), *texts[2:]])
            case "Fn":
                end = ";" if self._state.section == "SYNOPSIS" else ""
                self._words([f"{texts[0]}({', '.join(texts[1:])}){end}"] if texts else [])
            case "Fa":
                self._words([", ".join(texts)])
            case "In":
                is_synopsis = self._state.section == "SYNOPSIS"
                self._words([f"{'#include ' if is_synopsis else ''}<{''.join(texts)}>"])
            case "Lk":
                self._words([f"{' '.join(texts[1:])}: {texts[0]}"] if len(texts) > 1 else texts)
            case "Ns":
                self.glues = True
                self.is_glued = self.is_glued or not self.text
                for each in texts:
                    self._word(each)
            case "Ap":
                self._put("'", glued=True, glues=True)
                for each in texts:
                    self._word(each)
            case "Pf":
                self._put("".join(texts), glues=True)
            case "Sm":
                self._state.is_spaced = texts == ["on"] if texts else not self._state.is_spaced
            case "Bx":
                self._words([f"{''.join(texts)}BSD"])
            case "At":
                self._words([_AT_AND_T.get("".join(texts), "AT&T UNIX")])
            case "St":
                self._words([_STANDARDS.get("".join(texts), "".join(texts))])
            case "Ud" | "Bt":
                self._words(["currently under development." if name == "Ud" else "is currently in beta test."])
            case "Eo":
                self._put("".join(texts), glues=True)
            case "Ec":
                self._put("".join(texts), glued=True)
            case _:
                self._other(name, texts)

    def _other(self, name: str, texts: Sequence[str]) -> None:
        if name in _SYSTEMS:
            self._put(_SYSTEMS[name])
            self._words(texts)
        elif name in _BEGIN:
            self._put(_BEGIN[name], glues=bool(_BEGIN[name]))
            self._words(texts)
        elif name in _END:
            if _END[name]:
                self._put(_END[name], glued=True)
            self._words(texts)
        else:
            self._words(texts)

    def _flags(self, texts: Sequence[str], *, is_followed: bool) -> None:
        if not texts:
            self._put("-", glues=is_followed)
        for each in texts:
            self._put(each if each in ("|",) else f"-{each}")

    def _words(self, texts: Sequence[str]) -> None:
        for each in texts:
            self._put(each)

    def _word(self, raw: str) -> None:
        """Add a word, or punctuation that is not separated from the word next to it."""
        text = self._printed(raw)
        self._put(text, glued=raw in _CLOSING, glues=raw in _OPENING)

    def _put(self, text: str, *, glued: bool = False, glues: bool = False) -> None:
        glued = glued or self.glues or not self._state.is_spaced
        if self.text:
            self.text += text if glued else f" {text}"
        else:
            self.text, self.is_glued = text, self.is_glued or glued
        self.glues = glues
