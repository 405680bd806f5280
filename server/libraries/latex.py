"""LaTeX of bibliographies as plain text: accents, symbols and braces."""

from __future__ import annotations

import importlib
import pkgutil
import re
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

# Text without these needs no parser: braces are left out, and typewriter marks replaced.
_MARKUP = re.compile(r"[\\$~]")
_BRACES = str.maketrans("", "", "{}")
_MARKS = (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”"))
# Deeper groups exceed the stack of the parser.
_DEEPEST = 50
_LONGEST_CHARS = 100_000
# A hyphen at which a word may be divided (the package extdash).
_HYPHEN = re.compile(r"\\[-=]/")
_COMMAND = re.compile(r"\\[A-Za-z]+\s?|[{}]|\\")
# Signs that LaTeX would take as a comment or a column; BibTeX has them as text.
_SIGN = re.compile(r"(?<!\\)([%&])")
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
    r"""What a command that has no text of its own is about: ``\texttt{framed.sty}`` is a title."""
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
_DECODER = LatexNodes2Text(math_mode="verbatim", keep_comments=True, latex_context=_TEXTS)
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
    text = _HYPHEN.sub("-", text[:_LONGEST_CHARS])
    return " ".join((_decode_markup(text) if _MARKUP.search(text) else _decode_plain(text)).split())


def _decode_plain(text: str) -> str:
    for mark, sign in _MARKS:
        text = text.replace(mark, sign)
    return text.translate(_BRACES)


def _decode_markup(text: str) -> str:
    if _depth(text) > _DEEPEST:
        return strip_markup(text)
    try:
        return str(_DECODER.latex_to_text(_SIGN.sub(r"\\\1", text), latex_context=_MACROS))
    except _NOT_LATEX:
        return strip_markup(text)


def strip_markup(text: str) -> str:
    """The text without commands and braces, where it cannot be parsed as LaTeX."""
    return _COMMAND.sub("", text)


def _depth(text: str) -> int:
    depth = deepest = 0
    for sign in text:
        depth += (sign == "{") - (sign == "}")
        deepest = max(depth, deepest)
    return deepest
