"""Fills in prompts: Jinja templates in its sandbox, with the arguments, the listed tools, and what the SDK says.

A template is the operator's text. Arguments are inserted as they are and never read as templates.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from jinja2 import DictLoader, StrictUndefined, TemplateError, TemplateSyntaxError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from server.prompts.records import Prompt
from server.reference.sdk import explain

MOST_CHARS = 40_000
_BODY = "body"
# What a template has besides its arguments.
_TOOLS = "tools"
_GLOBALS = {"explain": explain}


def render(prompt: Prompt, arguments: Mapping[str, str], tools: Collection[str]) -> str:
    """The text of a prompt; a missing optional argument is "". Raises ``ValueError`` where the template fails."""
    given = {each.name: arguments.get(each.name, "") for each in prompt.arguments}
    template = _environment(prompt.body, tuple(prompt.parts.items())).get_template(_BODY)
    written: list[str] = []
    size = 0
    try:
        for piece in template.generate({**given, _TOOLS: frozenset(tools)}):
            written.append(piece)
            size += len(piece)
            if size > MOST_CHARS:
                raise ValueError(f"the text is longer than {MOST_CHARS:,} characters")
    except (TemplateError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"the template fails: {error}") from None
    return "".join(written).strip()


def check_template(prompt: Prompt) -> None:
    """Raise ``ValueError`` for a template with wrong syntax, an unknown name, or a part that is not there."""
    environment = _environment(prompt.body, tuple(prompt.parts.items()))
    known = {each.name for each in prompt.arguments} | {_TOOLS, *_GLOBALS}
    texts = {**prompt.parts, _BODY: prompt.body}
    # Only what is included is checked: other parts of the domain may take other arguments.
    included = [_BODY]
    for name in included:
        where = "" if name == _BODY else f"{name}: "
        try:
            parsed = environment.parse(texts[name])
        except TemplateSyntaxError as error:
            raise ValueError(f"{where}line {error.lineno}: {error.message}") from None
        if unknown := sorted(meta.find_undeclared_variables(parsed) - known):
            raise ValueError(f"{where}{unknown[0]!r} is neither an argument nor {_TOOLS} nor explain()")
        for part in meta.find_referenced_templates(parsed):
            if part is None or part not in prompt.parts:
                raise ValueError(f"{where}includes {part!r}, which is not there")
            if part not in included:
                included.append(part)


@lru_cache(maxsize=64)
def _environment(body: str, parts: tuple[tuple[str, str], ...]) -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        loader=DictLoader({**dict(parts), _BODY: body}),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals = dict(_GLOBALS)
    return environment
