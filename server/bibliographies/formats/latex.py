"""LaTeX of bibliographies as plain text: accents, symbols and braces."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pylatexenc  # type: ignore[import-untyped]
from pylatexenc.latex2text import (  # type: ignore[import-untyped]
    LatexNodes2Text,
    MacroTextSpec,
    get_default_latex_context_db,
)
from pylatexenc.latexwalker import LatexWalkerError  # type: ignore[import-untyped]
from pylatexenc.latexwalker import (
    get_default_latex_context_db as get_default_macros,
)
from pylatexenc.macrospec import MacroSpec  # type: ignore[import-untyped]

# Text without these needs no parser: braces and typewriter marks are replaced.
_MARKUP = re.compile(r"[\\$~]")
# Private characters around what braces enclose.
OPEN, CLOSE = "\ue010", "\ue011"
_BRACES, _NO_MARKS = str.maketrans("{}", OPEN + CLOSE), str.maketrans("", "", OPEN + CLOSE)
_MARKS = (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”"))
# Deeper groups exceed the stack of the parser.
_DEEPEST = 50
_LONGEST_CHARS = 100_000
# A hyphen at which a word may be divided (the package extdash).
_HYPHEN = re.compile(r"\\[-=]/")
_COMMAND = re.compile(r"\\[A-Za-z]+\s?|[{}]|\\")
# Signs that LaTeX would take as a comment or a column; BibTeX has them as text.
_SIGN = re.compile(r"(?<!\\)([%&])")
# A character by its number: decimal, octal, hexadecimal, or the character itself.
_NUMBER = r"""(?:`\\?(?P<itself>\S)|'(?P<octal>[0-7]{1,7})|"(?P<hexadecimal>[0-9A-F]{1,6})|(?P<decimal>\d{1,7}))"""
_CHARACTER = re.compile(rf"\\(?:symbol\s*\{{\s*{_NUMBER}\s*\}}|char\s*{_NUMBER.replace('?P<', '?P<c')}\s?)")
_BASES: Mapping[str, int] = {"octal": 8, "decimal": 10, "hexadecimal": 16}
# Text that stands as it is: addresses, and what two equal signs enclose.
_VERBATIM = re.compile(
    r"(?P<command>\\(?:url|path|nolinkurl)\s*\{)(?P<address>[^{}]*)\}|\\verb\*?(?P<sign>[^\w\s*{}])(?P<text>.{0,200}?)(?P=sign)"
)
_LITERAL: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "{}%&#$_"},
    **{sign: f"{sign}{{}}" for sign in "-`'"},
}
# Space in numbers, and where a line may end.
_SPACING = re.compile(
    r"\\(?:penalty\s*-?\d+|m?(?:kern|skip)\s*-?[\d.]+\s*[a-z]{2}|hskip\s*-?[\d.]+\s*[a-z]{2}"
    r"(?:\s*(?:plus|minus)\s*[\d.]+\s*[a-z]{2})*)\s?"
)
# Spanish and German marks, and quotations in single marks.
_INVERTED = re.compile(r"([!?])`(?!`)")
_GERMAN = re.compile(r""""`([^"`]+)"'""")
_SINGLE = re.compile(r"(?<!\w)`([^`'‘’]+)['’](?!')")
# An accent over nothing is the sign itself.
_BARE_ACCENT = re.compile(r"\\([~^])\{\s*\}")
# Commands around quotations, which the library does not know.
_QUOTING = ("enquote", "mkbibquote")
_MACROS, _TEXTS = get_default_macros(), get_default_latex_context_db()
_MACROS.add_context_category("quoting", macros=[MacroSpec(name, "*{") for name in _QUOTING], prepend=True)
# Names of programs as commands; without these a title loses its subject.
_LOGOS = {
    **{name: name for name in ("TeX", "LaTeX", "BibTeX", "XeTeX", "XeLaTeX", "LuaTeX", "LuaLaTeX", "pdfTeX")},
    **{name: name for name in ("ConTeXt", "MetaPost", "BibLaTeX", "PiCTeX", "SliTeX", "TUB", "UNIX", "PS")},
    "LaTeXe": "LaTeX2e",
    "MF": "METAFONT",
    "METAFONT": "METAFONT",
    "METAPOST": "METAPOST",
    "MP": "METAPOST",
    "BIBTEX": "BibTeX",
    "BibTex": "BibTeX",
    "Bibtex": "BibTeX",
    "AMS": "AMS",
    "AmS": "AMS",
    "AmSTeX": "AMS-TeX",
    "AmSLaTeX": "AMS-LaTeX",
    "ConTeXT": "ConTeXt",
    "LaTeXTeX": "(La)TeX",
    "eTeX": "e-TeX",
    "WEB": "WEB",
}
# Signs that the library leaves out, or has as others.
_SIGNS: Mapping[str, str] = {
    **dict.fromkeys(("space", "nobreakspace", "thinspace", "enspace", "newline", "quad", "qquad"), " "),
    **dict.fromkeys(("-", "nolinebreak", "textcompwordmark", "selectfont"), ""),
    "copyright": "©",
    "pounds": "£",
    "S": "§",
    "P": "¶",
    "degree": "°",
    "TM": "™",
    "euro": "€",
    "No": "№",
    "dag": "†",
    "ddag": "‡",
    "slash": "/",
    "hyp": "-",
    "textperiodcentered": "·",
    "textunderscore": "_",
    "textbar": "|",
    "textless": "<",
    "textgreater": ">",
    "textbraceleft": "{",
    "textbraceright": "}",
    "textasciicircum": "^",
    "textquotedbl": '"',
    "lq": "‘",
    "rq": "’",
    "og": "« ",
    "fg": " »",
    "glqq": "„",
    "grqq": "“",
    "glq": "‚",
    "grq": "‘",
    "flqq": "«",
    "frqq": "»",
    "flq": "‹",
    "frq": "›",
}
# Commands of which a part is text: their arguments, and what is written of these. Those for the order of lists are
# of BibTeX's own examples.
_PARTS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("noopsort", "SortNoop", "sortnoop", "color", "fontencoding", "fontfamily"), ("{", "%.0s")),
    "printfirst": ("{{", "%(1)s"),
    "switchargs": ("{{", "%(2)s%(1)s"),
    "raisebox": ("{{", "%(2)s"),
    "bibinfo": ("{{", "%(2)s"),
    "discretionary": ("{{{", "%(3)s"),
}
_MACROS.add_context_category(
    "parts",
    macros=[MacroSpec(name, arguments) for name, (arguments, _) in _PARTS.items()]
    + [MacroSpec(name, "") for name in _SIGNS],
    prepend=True,
)
_TEXTS.add_context_category(
    "parts",
    macros=[MacroTextSpec(name, text) for name, text in _SIGNS.items()]
    + [MacroTextSpec(name, text) for name, (_, text) in _PARTS.items()],
    prepend=True,
)
_MACROS.add_context_category(
    "addresses",
    macros=[MacroSpec("path", "{"), MacroSpec("nolinkurl", "{"), MacroSpec("href", "{{")],
    prepend=True,
)
_TEXTS.add_context_category(
    "logos", macros=[MacroTextSpec(name, text) for name, text in _LOGOS.items()], prepend=True
)
_TEXTS.add_context_category("quoting", macros=[MacroTextSpec(name, "%.0s“%s”") for name in _QUOTING], prepend=True)


def _write_link(node: Any, l2tobj: Any) -> str:
    """The words of a link, without its address."""
    return str(l2tobj.nodelist_to_text([node.nodeargd.argnlist[-1]]))


def _write_arguments(node: Any, l2tobj: Any) -> str:
    r"""The subject of a command that has no text of its own: ``\texttt{framed.sty}`` is a title."""
    given = node.nodeargd.argnlist if node.nodeargd else ()
    groups = (each for each in given or () if each is not None and getattr(each, "delimiters", ("", ""))[0] == "{")
    return "".join(l2tobj.nodelist_to_text(each.nodelist) for each in groups)


# An address stands as it is, without the brackets of the library.
_TEXTS.add_context_category(
    "addresses",
    macros=[
        *(MacroTextSpec(name, "%s") for name in ("url", "path", "nolinkurl")),
        MacroTextSpec("href", simplify_repl=_write_link),
    ],
    prepend=True,
)
_TEXTS.set_unknown_macro_spec(MacroTextSpec("", simplify_repl=_write_arguments))
# Commands whose text keeps its case: code, addresses, and what is not set on the line.
_KEPT = frozenset({"texttt", "url", "path", "nolinkurl", "textsc", "textsuperscript", "textsubscript"})


class _Marking(LatexNodes2Text):  # type: ignore[misc]
    """The library's writer with marks around groups in braces that are no arguments, and around ``_KEPT``."""

    def group_node_to_text(self, node: Any) -> str:
        text = str(super().group_node_to_text(node))
        return text if getattr(node, "is_argument", False) else f"{OPEN}{text}{CLOSE}"

    def macro_node_to_text(self, node: Any) -> str:
        for argument in (node.nodeargd and node.nodeargd.argnlist) or ():
            if argument is not None:
                argument.is_argument = True
        text = str(super().macro_node_to_text(node))
        return f"{OPEN}{text}{CLOSE}" if node.macroname in _KEPT else text


_DECODER = _Marking(math_mode="verbatim", keep_comments=True, latex_context=_TEXTS)
# What the parser raises on text that is not LaTeX. An import that fails is none of them: it must not pass unseen.
_NOT_LATEX = (LatexWalkerError, ValueError, TypeError, AttributeError, LookupError, RecursionError, AssertionError)
_TEXTS_KEPT = 4_096  # decoded texts in memory: names and journals repeat


def warm_up() -> None:
    """Import what pylatexenc imports at its first text: a child behind walls cannot open the files."""
    for module in pkgutil.walk_packages(pylatexenc.__path__, "pylatexenc."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    _decode_markup(r"M{\"u}ller $x$")


@lru_cache(_TEXTS_KEPT)
def decode(text: str) -> str:
    r"""The text without LaTeX, in one line; formulas stay as they are.

    >>> decode(r"M{\"u}ller \& {NASA}: 10--20\,\% of $x^2$")
    'Müller & NASA: 10–20 % of $x^2$'
    """
    return _finish(_decode(text).translate(_NO_MARKS))


def decode_marked(text: str) -> str:
    r"""The text without LaTeX, with marks (``OPEN``, ``CLOSE``) around what stands in braces.

    Text that cannot be parsed as LaTeX is marked as a whole.

    >>> decode_marked(r"{NASA} and \emph{Bayes}").replace(OPEN, "<").replace(CLOSE, ">")
    '<NASA> and Bayes'
    """
    return _finish(_decode(text))


@lru_cache(_TEXTS_KEPT)
def _decode(text: str) -> str:
    """The text without LaTeX, with marks."""
    text = _HYPHEN.sub("-", text[:_LONGEST_CHARS].translate(_NO_MARKS))
    text = _INVERTED.sub(lambda found: "¡" if found[1] == "!" else "¿", text)
    return _decode_markup(text) if _MARKUP.search(text) else _decode_plain(text)


def _finish(decoded: str) -> str:
    return _SINGLE.sub(r"‘\1’", _GERMAN.sub(r"„\1“", " ".join(decoded.split())))


def _decode_plain(text: str) -> str:
    for mark, sign in _MARKS:
        text = text.replace(mark, sign)
    return text.translate(_BRACES)


def _decode_markup(text: str) -> str:
    stripped = f"{OPEN}{strip_markup(text)}{CLOSE}"
    if _depth(text) > _DEEPEST:
        return stripped
    text = _BARE_ACCENT.sub(lambda found: _LITERAL[found[1]], _SPACING.sub("", text))
    text = _CHARACTER.sub(_write_character, _VERBATIM.sub(_write_verbatim, text))
    try:
        return str(_DECODER.latex_to_text(_SIGN.sub(r"\\\1", text), latex_context=_MACROS))
    except _NOT_LATEX:
        return stripped


def _write_character(found: re.Match[str]) -> str:
    """A character that is named by its number; nothing where there is none."""
    stated = {name.removeprefix("c"): text for name, text in found.groupdict().items() if text}
    (form, text), *_ = stated.items()
    number = ord(text) if form == "itself" else int(text, _BASES[form])
    return _escape(chr(number)) if number <= sys.maxunicode and chr(number).isprintable() else ""


def _write_verbatim(found: re.Match[str]) -> str:
    if found["command"] is None:
        return _escape(found["text"])
    # Signs of LaTeX have a backslash before them in many files, and are meant without it.
    address = _BACKSLASHED.sub(r"\1", found["address"])
    return "".join((found["command"], _escape(address), "}"))


_BACKSLASHED = re.compile(r"\\([_&%#~$^{}])")


def _escape(text: str) -> str:
    """The text as LaTeX that stands for it, sign by sign."""
    return "".join(_LITERAL.get(sign, sign) for sign in text)


def strip_markup(text: str) -> str:
    """The text without commands and braces, where it cannot be parsed as LaTeX."""
    return _COMMAND.sub("", text)


def _depth(text: str) -> int:
    depth = deepest = 0
    for sign in text:
        depth += (sign == "{") - (sign == "}")
        deepest = max(depth, deepest)
    return deepest
