"""The prompts of a server: those that come with winnow, and those of the operator's folders."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from server.errors import WinnowError
from server.prompts.reading import SHIPPED, read_pack
from server.prompts.records import Argument, Prompt
from server.prompts.rendering import render
from server.runtime.operator_files import LeftOut
from server.text.printable import one_line, printable

_MESSAGE_CHARS = 290
_MOST_COMPLETIONS = 100
_TAKEN = "another prompt already has this name"


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
        raise WinnowError("INVALID_REQUEST", one_line(message, _MESSAGE_CHARS))

    def fill(self, prompt: Prompt, arguments: Mapping[str, str], tools: Collection[str]) -> str:
        """The text of a prompt with these arguments, cleaned of what is not printable.

        Raises ``WinnowError("INVALID_REQUEST")`` for an argument that is missing, blank, too long, unknown or not
        among its choices, and for a template of the operator that fails.
        """
        values = {name: printable(value).strip() for name, value in arguments.items()}
        known = {each.name: each for each in prompt.arguments}
        wrong = [name for name in values if name not in known]
        wrong += [each.name for each in prompt.arguments if not _fits(each, values.get(each.name, ""))]
        if wrong:
            raise WinnowError("INVALID_REQUEST", _explain_arguments(prompt, wrong[0]))
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
        raise WinnowError("INVALID_REQUEST", _explain_arguments(prompt, argument))


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


def _fits(argument: Argument, value: str) -> bool:
    if not value:
        return not argument.required
    return len(value) <= argument.max_chars and (not argument.choices or value in argument.choices)


def _explain_arguments(prompt: Prompt, wrong: str) -> str:
    taken = "; ".join(f"{each.name}: {each.asks} ({each.bounds})" for each in prompt.arguments) or "no arguments"
    message = f"{prompt.listed_name}: {one_line(wrong, 40)!r} is wrong, missing or not known; it takes {taken}"
    return one_line(message, _MESSAGE_CHARS)
