"""The prompts of a server: those that come with winnow, and those of the operator's folders."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from winnow.server.errors import WinnowError
from winnow.server.runtime.operator_files import LeftOut
from winnow.server.text.printable import one_line, printable
from winnow.server.tools.prompts.reading import SHIPPED, read_pack
from winnow.server.tools.prompts.records import Argument, Prompt
from winnow.server.tools.prompts.rendering import render

_MESSAGE_CHARS = 290
_MOST_COMPLETIONS = 100
_TAKEN = "another prompt already has this name"
_UNKNOWN = "is no argument of it"


@dataclass(frozen=True, slots=True)
class PromptLibrary:
    """Prompts in the order in which they are listed, and what of the folders was left out."""

    prompts: tuple[Prompt, ...]
    left_out: tuple[LeftOut, ...] = ()

    def offered(self, tools: Collection[str]) -> Sequence[Prompt]:
        """The prompts whose tools a server lists."""
        return [prompt for prompt in self.prompts if set(prompt.needs) <= set(tools)]

    def find(self, name: str, tools: Collection[str]) -> Prompt:
        """The prompt with this name: a listed one, an id, or an address, with or without "@" and its version.

        Raises ``WinnowError("INVALID_REQUEST")``, naming the prompts of this server.
        """
        offered = self.offered(tools)
        for prompt in offered:
            if name in prompt.names:
                return prompt
        names = ", ".join(prompt.listed_name for prompt in offered)
        message = f"unknown prompt {one_line(name, 100)!r}; this server has: {names}"
        if self.left_out:
            message = f"{one_line(message, 220)}; some were left out: winnow prompt list says why"
        raise WinnowError("INVALID_REQUEST", one_line(message, _MESSAGE_CHARS))

    def fill(self, prompt: Prompt, arguments: Mapping[str, str], tools: Collection[str]) -> str:
        """The text of a prompt with these arguments, cleaned of what is not printable.

        Raises ``WinnowError("INVALID_REQUEST")`` for an argument that is missing, blank, too long, unknown or not
        among its choices, and for a template of the operator that fails.
        """
        values = {name: printable(value).strip() for name, value in arguments.items()}
        known = {each.name: each for each in prompt.arguments}
        wrong = [(name, _UNKNOWN) for name in values if name not in known]
        wrong += [
            (each.name, why) for each in prompt.arguments if (why := _refuse(each, values.get(each.name, "")))
        ]
        if wrong:
            raise WinnowError("INVALID_REQUEST", _explain_arguments(prompt, *wrong[0]))
        try:
            return render(prompt, values, tools)
        except ValueError as error:
            raise WinnowError("INVALID_REQUEST", f"{prompt.uri}: {one_line(str(error), 200)}") from None

    def complete(self, prompt: Prompt, argument: str, begun: str) -> Sequence[str]:
        """The choices and examples of an argument that begin with this text, in any case.

        Raises ``WinnowError("INVALID_REQUEST")`` for an argument that the prompt does not have.
        """
        for each in prompt.arguments:
            if each.name == argument:
                values = (*each.choices, *each.examples)
                return [value for value in values if value.casefold().startswith(begun.casefold())][
                    :_MOST_COMPLETIONS
                ]
        raise WinnowError("INVALID_REQUEST", _explain_arguments(prompt, argument, _UNKNOWN))


def load_prompts(folders: Sequence[Path]) -> PromptLibrary:
    """The prompts that come with winnow, then those of these folders; of two with one id the first is kept."""
    prompts: dict[tuple[str, int], Prompt] = {}
    left_out: list[LeftOut] = []
    for folder in (SHIPPED, *folders):
        pack = read_pack(folder)
        left_out += pack.left_out
        taken = {id for id, _ in prompts}
        for prompt in pack.prompts:
            if prompt.id in taken:
                left_out.append(LeftOut(f"{folder}: {prompt.id}@{prompt.major}", _TAKEN))
            else:
                prompts[prompt.id, prompt.major] = prompt
    return PromptLibrary(tuple(prompts.values()), tuple(left_out))


def _refuse(argument: Argument, value: str) -> str:
    """Why a value is refused; "" for one that the argument takes."""
    if not value:
        return "is missing" if argument.required else ""
    if argument.choices and value not in argument.choices:
        return f"is one of {', '.join(argument.choices)}"
    return "" if len(value) <= argument.max_chars else f"has more than {argument.max_chars:,} characters"


def _explain_arguments(prompt: Prompt, name: str, why: str) -> str:
    taken = "; ".join(f"{each.name}: {each.asks} ({each.bounds})" for each in prompt.arguments) or "no arguments"
    message = f"{prompt.listed_name}: {one_line(name, 40)!r} {why}; it takes {taken}"
    return one_line(message, _MESSAGE_CHARS)
