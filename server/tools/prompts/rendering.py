"""Fills in prompts: Jinja templates in its sandbox, with the arguments, the listed tools, and what the SDK says.

A template is the operator's text. Arguments are inserted as they are and never read as templates.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from jinja2 import DictLoader, StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from winnow.server.tools.prompts.records import Prompt
from winnow.server.tools.prompts.template_check import TemplateRules
from winnow.server.tools.reference.sdk import explain

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


def check_template(prompt: Prompt) -> frozenset[str]:
    """The names that a template uses. Raises ``ValueError`` for what ``template_check`` refuses."""
    names = frozenset((*(each.name for each in prompt.arguments), _TOOLS))
    texts = {**prompt.parts, _BODY: prompt.body}
    environment = _environment(prompt.body, tuple(prompt.parts.items()))
    return TemplateRules(environment, texts, names, _GLOBALS).check(_BODY)


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
    environment.filters["default"] = _replace_empty
    return environment


def _replace_empty(value: str, otherwise: str = "", boolean: bool = True) -> str:
    """The filter ``default``: Jinja's own replaces what is undefined, and an argument that is missing is ""."""
    return value or otherwise
