"""Checks of the template of a prompt, made of texts, arguments, conditions, parts, and what the SDK says.

Loops, variables, arithmetic and formats are refused: with each of them a few characters could fill the memory of a
server, or keep it busy without end. Prompts need none of them, because their arguments are texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jinja2 import Environment, TemplateSyntaxError, meta, nodes

# What a template is made of. Calls and filters are checked one by one.
_ALLOWED: frozenset[type[nodes.Node]] = frozenset(
    {
        nodes.Template,
        nodes.Output,
        nodes.TemplateData,
        nodes.Const,
        nodes.Name,
        nodes.If,
        nodes.Include,
        nodes.And,
        nodes.Or,
        nodes.Not,
        nodes.Compare,
        nodes.Operand,
        nodes.CondExpr,
        nodes.List,
        nodes.Tuple,
    }
)
_FILTERS = frozenset({"capitalize", "default", "length", "lower", "title", "trim", "upper"})
# Texts that one prompt may consist of, a part counted as often as it is included.
_MOST_TEXTS = 200


@dataclass(frozen=True, slots=True)
class TemplateRules:
    """The rules that the templates of one prompt are checked against.

    ``texts`` are the body and the parts, by name. ``names`` are what a template may use, and ``functions`` what it
    may call, with one constant text; they raise ``KeyError`` for a text that they do not know.
    """

    environment: Environment
    texts: Mapping[str, str]
    names: frozenset[str]
    functions: Mapping[str, Callable[[str], str]]

    def check(self, body: str) -> frozenset[str]:
        """Check one of the texts and the parts that it includes; returns the names that they use.

        Raises ``ValueError``, naming the part and the line, for wrong syntax, for what a template may not consist
        of, for a part or a function that is not there, and for too many parts.
        """
        # Only what is included is checked: other parts of the domain may take other arguments.
        checked = {body: self._check_text("", self.texts[body])}
        for part in (waiting := list(checked[body].parts)):
            if part not in checked:
                checked[part] = self._check_text(f"{part}: ", self.texts[part])
                waiting += checked[part].parts
        if _count(checked, body, {}, ()) > _MOST_TEXTS:
            raise ValueError(f"its parts include others more than {_MOST_TEXTS} times in all")
        return frozenset().union(*(text.names for text in checked.values()))

    def _check_text(self, where: str, text: str) -> _Checked:
        try:
            parsed = self.environment.parse(text)
        except TemplateSyntaxError as error:
            raise ValueError(f"{where}line {error.lineno}: {error.message}") from None
        for node in (parsed, *parsed.find_all(nodes.Node)):
            if why := self._refuse(node):
                raise ValueError(f"{where}line {node.lineno}: {why}")
        names = frozenset(node.name for node in parsed.find_all(nodes.Name))
        if unknown := sorted(names - self.names - self.functions.keys()):
            raise ValueError(f"{where}{unknown[0]!r} is neither an argument nor tools nor explain()")
        parts = []
        for part in meta.find_referenced_templates(parsed):
            if part is None or part not in self.texts:
                raise ValueError(f"{where}includes {part!r}, which is not there")
            parts.append(part)
        return _Checked(tuple(parts), names)

    def _refuse(self, node: nodes.Node) -> str:
        """Why a node is refused; "" for one that is allowed."""
        if isinstance(node, nodes.Call):
            return self._refuse_call(node)
        if isinstance(node, nodes.Filter):
            return "" if node.name in _FILTERS else f"the filter {node.name!r} is not for prompts"
        return "" if type(node) in _ALLOWED else f"a {type(node).__name__.lower()} is not for prompts"

    def _refuse_call(self, call: nodes.Call) -> str:
        name = call.node.name if isinstance(call.node, nodes.Name) else ""
        texts = [each.value for each in call.args if isinstance(each, nodes.Const)]
        more = (*call.kwargs, call.dyn_args, call.dyn_kwargs)
        if name not in self.functions or len(call.args) != 1 or len(texts) != 1 or any(more):
            return "a call is not for prompts, but of explain() with the name of one function of the SDK"
        try:
            self.functions[name](str(texts[0]))
        except KeyError:
            return f"{name}() knows no {str(texts[0])[:80]!r}"
        return ""


@dataclass(frozen=True, slots=True)
class _Checked:
    """The inclusions of a text, and the names that it uses."""

    parts: tuple[str, ...]
    names: frozenset[str]


def _count(checked: Mapping[str, _Checked], name: str, counts: dict[str, int], above: tuple[str, ...]) -> int:
    """The texts that make up this one. ``above`` are those that include it."""
    if name in above:
        raise ValueError(f"{name} includes itself")
    if name not in counts:
        below = (_count(checked, part, counts, (*above, name)) for part in checked[name].parts)
        counts[name] = 1 + sum(below)
    return counts[name]
