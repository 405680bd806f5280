"""What the template of a prompt may consist of: texts, arguments, conditions, parts, and what the SDK says.

Loops, variables, arithmetic and formats are refused: with each of them a few characters could fill the memory of a
server, or keep it busy without end. Prompts need none of them, because their arguments are texts.
"""

from __future__ import annotations

from collections.abc import Mapping

from jinja2 import Environment, TemplateSyntaxError, meta, nodes

# What a template is made of. Output, Name and Const stand in each.
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
        nodes.Call,
        nodes.Filter,
    }
)
_FILTERS = frozenset({"capitalize", "default", "length", "lower", "title", "trim", "upper"})
# Texts that one prompt may consist of, a part counted as often as it is included.
_MOST_TEXTS = 200


def check_texts(environment: Environment, body: str, texts: Mapping[str, str], known: frozenset[str]) -> None:
    """Check the body, which is one of the texts, and the parts that it includes.

    ``known`` are the names that a template may use. Raises ``ValueError``, naming the part and the line, for wrong
    syntax, for what a template may not consist of, for a part that is not there, and for too many of them.
    """
    # Only what is included is checked: other parts of the domain may take other arguments.
    included = {body: _check_text(environment, "", texts[body], texts, known)}
    for name in (waiting := list(included[body])):
        if name not in included:
            included[name] = _check_text(environment, f"{name}: ", texts[name], texts, known)
            waiting += included[name]
    if _count(included, body, {}, ()) > _MOST_TEXTS:
        raise ValueError(f"its parts include others more than {_MOST_TEXTS} times in all")


def _check_text(
    environment: Environment, where: str, text: str, texts: Mapping[str, str], known: frozenset[str]
) -> list[str]:
    """The parts that one text includes."""
    try:
        parsed = environment.parse(text)
    except TemplateSyntaxError as error:
        raise ValueError(f"{where}line {error.lineno}: {error.message}") from None
    for node in (parsed, *parsed.find_all(nodes.Node)):
        if not _is_allowed(node):
            raise ValueError(f"{where}line {node.lineno}: {_describe(node)} is not for prompts")
    if unknown := sorted({each.name for each in parsed.find_all(nodes.Name)} - known):
        raise ValueError(f"{where}{unknown[0]!r} is neither an argument nor tools nor explain()")
    parts = []
    for part in meta.find_referenced_templates(parsed):
        if part is None or part not in texts:
            raise ValueError(f"{where}includes {part!r}, which is not there")
        parts.append(part)
    return parts


def _is_allowed(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Filter):
        return node.name in _FILTERS
    if isinstance(node, nodes.Call):
        return isinstance(node.node, nodes.Name)
    return type(node) in _ALLOWED


def _describe(node: nodes.Node) -> str:
    name = f" {node.name!r}" if isinstance(node, nodes.Filter) else ""
    return f"a {type(node).__name__.lower()}{name}"


def _count(included: Mapping[str, list[str]], name: str, counts: dict[str, int], above: tuple[str, ...]) -> int:
    """The texts that make up this one. ``above`` are those that include it."""
    if name in above:
        raise ValueError(f"{name} includes itself")
    if name not in counts:
        below = (_count(included, part, counts, (*above, name)) for part in included[name])
        counts[name] = 1 + sum(below)
    return counts[name]
