r"""Resolves template code in titles and headings to the text that a reader of the built page sees.

Pages are written for programs that build sites: Hugo and Jekyll (shortcodes, Liquid), MDX (JSX tags, expressions,
imports), Sphinx and MyST (roles). ``_KINDS`` is a table: a pattern for each kind of code, and what replaces it.
Code spans are kept, because a heading about templates shows code between backticks. Each pattern looks at a
character a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from types import MappingProxyType

from winnow.server.text.markup.possessive import compile_possessive

# A longer title is misplaced text; readers and chunks cut titles shorter than this.
_MOST_CHARS = 1_000
# Resolved code may be code again: ``<<b>b>``.
_MOST_ROUNDS = 4

_HTML = (
    "a|abbr|b|br|center|cite|code|del|details|div|em|font|h[1-6]|hr|i|img|input|ins|kbd|label|mark|p|q|s|samp|section"
    "|small|span|strike|strong|sub|summary|sup|svg|table|tbody|td|th|tr|tt|u|ul|var|wbr"
)
# The objects that a page written in JSX reads its own facts from; other braces are examples.
_PAGE_VALUES = "props|frontmatter|frontMatter|page|site|meta|metadata"
# Parameters of a shortcode that are shown; and quoted words without a name, which are shown if it has no such
# parameter.
_SHOWN = re.compile(
    r"(?<![\w.-])(?:text|title|label|heading|caption|term_id)\s?[=:]\s?"
    r"(?:\"(?P<double>[^\"]{1,300}+)\"|'(?P<single>[^']{1,300}+)')"
)
_QUOTED = re.compile(r"(?<![\w=:\"'])\s?(?:\"(?P<double>[^\"]{1,300}+)\"|'(?P<single>[^']{1,300}+)')")
_ADDRESS = re.compile(r"\S*[/.]\S*")
_ROLE_TARGET = re.compile(r"(?P<text>[^<>]*+)<[^<>]*+>\s*\Z")
_MARKED = re.compile(r"\{\{|\{%|\{#|\{/\*|\{[A-Za-z_$][\w$]*\.|<[A-Za-z/!]|[:}]`|\A\s*import\s")
_WORDS = re.compile(r"\w(?:[\w.-]{0,80}\w)?")


def resolve_template_code(title: str) -> str:
    """A title or heading without template code, on one line; "" if it consists of nothing else.

    >>> resolve_template_code('{{% heading "options" %}}'), resolve_template_code("Pods in {{< version >}}")
    ('Options', 'Pods in')
    >>> resolve_template_code("Using :class:`~queue.Queue` <Badge text='new' />")
    'Using Queue'
    """
    if not has_template_code(title):
        return title
    resolved = _join_words(title[:_MOST_CHARS])
    for _ in range(_MOST_ROUNDS):
        before, resolved = resolved, _join_words(_CODE.sub(_replace, resolved))
        if resolved == before:
            return resolved
    return " ".join(_WORDS.findall(resolved))


def resolve_heading(heading: str) -> str:
    """As ``resolve_template_code``; the words of the code where a heading consists of code alone."""
    return resolve_template_code(heading) or " ".join(_WORDS.findall(heading[:_MOST_CHARS]))


def has_template_code(text: str) -> bool:
    """Whether the text may contain template code; False is certain."""
    return _MARKED.search(text) is not None


def _join_words(text: str) -> str:
    return " ".join(text.split())


def _replace(match: re.Match[str]) -> str:
    replaced = _REPLACEMENTS[match.lastgroup or ""](match)
    starts_title = not match.string[: match.start()].strip()
    return replaced[:1].upper() + replaced[1:] if starts_title and match.lastgroup == "shortcode" else replaced


def _keep(match: re.Match[str]) -> str:
    return match.group()


def _drop(match: re.Match[str]) -> str:
    return " " if match.group().lower().startswith("<br") else ""


def _show_parameter(match: re.Match[str]) -> str:
    """The text that a shortcode or a Liquid expression displays, as far as it is written there."""
    inner = match.group()[2:-2]
    return next(filter(None, (*_values_of(_SHOWN.finditer(inner)), *_words_of(_QUOTED.finditer(inner)))), "")


def _values_of(matches: Iterable[re.Match[str]]) -> list[str]:
    return [match["double"] or match["single"] for match in matches]


def _words_of(matches: Iterable[re.Match[str]]) -> list[str]:
    """The quoted texts that are words, not the address of a file or a page."""
    return [text for text in _values_of(matches) if not _ADDRESS.fullmatch(text)]


def _show_role(match: re.Match[str]) -> str:
    content = match.group().partition("`")[2][:-1].strip()
    if explicit := _ROLE_TARGET.match(content):
        return explicit["text"].strip() or content.strip("<>")
    return content.rpartition(".")[2] if content.startswith("~") else content.lstrip("!")


_KINDS: tuple[tuple[str, str, Callable[[re.Match[str]], str]], ...] = (
    # :ref:`text <target>`, {ref}`text <target>`
    ("role", r"(?::[A-Za-z][\w.+:-]{0,40}+(?<=:)|\{[A-Za-z][\w.+:-]{0,40}+\})`[^`\n]{1,300}+`", _show_role),
    ("code_span", r"`[^`]++`", _keep),
    # {{< name >}}, {{% name %}}, {{ name }}, {% name %}
    ("shortcode", r"\{\{[^{}]{0,400}+\}\}|\{%[^{}%]{0,400}+%\}", _show_parameter),
    # <!-- x -->, {# x #}, {/* x */}
    ("comment", r"<!--[^>]{0,400}+>|\{#[^{}#]{0,200}+#\}|\{/\*[^{}*]{0,400}+\*/\}", _drop),
    # import A from 'a';
    ("import", r"\A\s*import\s(?:[\w{}*,\s$]{1,200}\sfrom\s)?\s?(?:\"[^\"]{1,200}+\"|'[^']{1,200}+');?", _drop),
    # as {props.title}
    ("expression", rf"\{{(?:{_PAGE_VALUES})(?:\.[\w$]{{1,60}}+)++\}}", _drop),
    # <br>, </b>, <a name="x">, and <b> if it is closed; another <input> is a placeholder.
    (
        "html",
        rf"<(?:br|hr|wbr)\s?/?>|</(?:{_HTML})>|<(?:{_HTML})\s[^<>=]{{1,60}}+=[^<>]{{0,400}}+>"
        rf"|<(?P<tag>{_HTML})>(?=.{{0,300}}?</(?P=tag)>)",
        _drop,
    ),
    # <Tabs />, <Tabs of={x}>, </Tabs>, and <Tabs> if it is closed; another <Name> is a placeholder.
    (
        "component",
        r"<[A-Z][\w.]{0,60}+(?:/|\s[^<>]{0,400}+(?<=/))>|<[A-Z][\w.]{0,60}+\s[^<>=]{1,60}+=[^<>]{0,400}+>"
        r"|</[A-Z][\w.]{0,60}+>|<(?P<name>[A-Z][\w.]{0,60}+)>(?=.{0,300}?</(?P=name)>)|</?>",
        _drop,
    ),
)
_CODE = compile_possessive("|".join(f"(?P<{kind}>{pattern})" for kind, pattern, _ in _KINDS))
_REPLACEMENTS = MappingProxyType({kind: replace for kind, _, replace in _KINDS})
