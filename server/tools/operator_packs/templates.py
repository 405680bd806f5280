"""The templates of tool packs: Jinja in its sandbox, reduced to what inserts values.

A template is the operator's; what it inserts comes from agents and is hostile. Values are never read as templates.
Loops, calls, arithmetic and filters that can make a long text of a short one are refused when a pack is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, Undefined, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from winnow.server.text.printable import one_line

MOST_CHARS = 64 * 1024
_TEMPLATE_CHARS = 8_000
_NAMES = frozenset({"input", "env", "id", "version"})
_ENV = "env"
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_NODES = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Const),
    *(nodes.Filter, nodes.Test, nodes.If, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not, nodes.Compare),
    *(nodes.Operand, nodes.Concat, nodes.List, nodes.Tuple),
)


class TemplateRefused(ValueError):
    """A template that is not used, or that fails with this input; the message says why."""


def check_template(text: str, *, variables: Collection[str] = (), in_url: bool = False) -> None:
    """Raise ``TemplateRefused`` for a template that could fail for another reason than its input.

    ``variables`` are the variables of the environment that it may name.
    """
    if len(text) > _TEMPLATE_CHARS:
        raise TemplateRefused(f"a template has at most {_TEMPLATE_CHARS:,} characters")
    try:
        parsed = _environment(in_url).parse(text)
    except TemplateSyntaxError as error:
        raise TemplateRefused(one_line(error.message or "wrong syntax", 150)) from None
    for node in parsed.find_all(nodes.Node):
        _check_node(node, variables, _environment(in_url).filters)
    if unknown := sorted(meta.find_undeclared_variables(parsed) - _NAMES):
        raise TemplateRefused(f"{one_line(unknown[0], 40)!r} is unknown; there are {', '.join(sorted(_NAMES))}")


def check_json_template(text: str) -> None:
    """Raise ``TemplateRefused`` for a template of JSON in which a value could become more than one value.

    What is inserted stands outside of JSON's strings and is written by ``tojson``, so that no character of it is
    read as JSON. A longer string is made within the expression: ``{{ ("to " ~ input.name) | tojson }}``.
    """
    if _walk_json(_environment(False).parse(text).body, in_string=False):
        raise TemplateRefused("a string of the JSON has no end")


def _walk_json(body: Sequence[nodes.Node], *, in_string: bool) -> bool:
    """Whether the JSON is within a string after these nodes; checks what they insert."""
    for node in body:
        if isinstance(node, nodes.Output):
            in_string = _walk_json(node.nodes, in_string=in_string)
        elif isinstance(node, nodes.TemplateData):
            in_string = _ends_in_string(node.data, in_string=in_string)
        elif isinstance(node, nodes.If):
            branches = (node.body, *(each.body for each in node.elif_), node.else_)
            if any(_walk_json(branch, in_string=in_string) != in_string for branch in branches):
                raise TemplateRefused("a string of the JSON begins or ends within an {% if %}")
        elif in_string:
            raise TemplateRefused(
                'a value is inserted within a string of the JSON; write {{ ("text " ~ input.q) | tojson }} '
                "without quotes around it"
            )
        elif not _is_json(node):
            raise TemplateRefused("what is inserted into JSON ends in | tojson: {{ input.q | tojson }}")
    return in_string


def _ends_in_string(text: str, *, in_string: bool) -> bool:
    """Whether a text of JSON that begins within a string, or not, ends in one."""
    plain = _ESCAPED.sub("", text) if in_string or "\\" in text else text
    return in_string ^ bool(plain.count('"') % 2)


def _is_json(node: nodes.Node) -> bool:
    if isinstance(node, nodes.CondExpr):
        return _is_json(node.expr1) and node.expr2 is not None and _is_json(node.expr2)
    return isinstance(node, nodes.Filter) and node.name == "tojson"


def _check_node(node: nodes.Node, variables: Collection[str], filters: Mapping[str, Any]) -> None:
    if not isinstance(node, _NODES):
        raise TemplateRefused(f"{type(node).__name__.lower()} is not supported; templates only insert values")
    if isinstance(node, nodes.Filter) and node.name not in filters:
        raise TemplateRefused(f"the filter {node.name!r} is not supported; there are {', '.join(sorted(filters))}")
    if isinstance(node, nodes.Getattr) and _is_environment(node.node) and node.attr not in variables:
        raise TemplateRefused(f"env.{one_line(node.attr, 60)} is not among env.passthrough")


def _is_environment(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == _ENV


def is_literal(text: str) -> bool:
    """Whether the text has nothing that a template would replace."""
    return "{{" not in text and "{%" not in text and "{#" not in text


def render(text: str, values: Mapping[str, Any], *, in_url: bool = False) -> str:
    """The text with its values; in a URL each value is encoded as one part of a path or query.

    Raises ``TemplateRefused`` where a value is missing, is no text or number, or the text becomes too long.
    """
    written, size = [], 0
    try:
        for piece in _compiled(text, in_url).generate(values):
            written.append(piece)
            size += len(piece)
            if size > MOST_CHARS:
                raise TemplateRefused(f"the text is longer than {MOST_CHARS:,} characters")
    except TemplateRefused:
        raise
    except (TemplateError, TypeError, KeyError, ValueError, RecursionError) as error:
        raise TemplateRefused(one_line(str(error), 150)) from None
    return "".join(written)


def _plain(value: Any) -> str:
    """A value as it is inserted. Texts stay, the others are written as JSON."""
    if isinstance(value, Undefined):
        str(value)  # raises with the name
    if value is None or isinstance(value, dict | list | tuple):
        raise TemplateRefused("an object, a list or null is inserted with | tojson")
    return value if isinstance(value, str) else json.dumps(value)


def _encoded(value: Any) -> str:
    return quote(_plain(value).encode("utf-8", "replace"), safe="")


def _to_json(value: Any) -> str:
    if isinstance(value, Undefined):
        str(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _join(values: Any, separator: str = ",") -> str:
    texts = [_plain(value) for value in values]
    if sum(map(len, texts)) + len(separator) * len(texts) > MOST_CHARS:
        raise TemplateRefused(f"the text is longer than {MOST_CHARS:,} characters")
    return separator.join(texts)


_FILTERS: Mapping[str, Any] = {
    "tojson": _to_json,
    "join": _join,
    "lower": lambda value: _plain(value).lower(),
    "upper": lambda value: _plain(value).upper(),
    "trim": lambda value: _plain(value).strip(),
    "length": len,
    "default": lambda value, instead="": instead if isinstance(value, Undefined) else value,
}


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox without attributes: a dot leads to a field of an object, also to one named ``items``."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """The field of an object."""
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """The field of an object, or the item of a list."""
        try:
            if isinstance(obj, dict | list):
                return obj[argument]
        except (LookupError, TypeError):
            pass
        return self.undefined(obj=obj, name=argument)


@lru_cache(maxsize=2)
def _environment(in_url: bool) -> _Environment:
    environment = _Environment(
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        finalize=_encoded if in_url else _plain,
    )
    environment.globals = {}
    environment.filters = dict(_FILTERS)
    return environment


@lru_cache(maxsize=512)
def _compiled(text: str, in_url: bool) -> Template:
    return _environment(in_url).from_string(text)
