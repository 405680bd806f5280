"""The records of prompts: what a version takes, and its text as a template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# The domain of the prompts that come with winnow; they are listed without it.
OWN_DOMAIN = "winnow"
_SCHEME = "mcp.prompt:"


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a prompt, a text of at most ``max_chars`` characters.

    With ``choices`` it is one of these; ``examples`` are suggestions. ``asks`` describes it.
    """

    name: str
    asks: str
    required: bool
    max_chars: int
    choices: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def bounds(self) -> str:
        """The bounds of the argument, in words."""
        words = f"one of {', '.join(self.choices)}" if self.choices else f"1 to {self.max_chars:,} characters"
        return words if self.required else f"optional, {words}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """One major version of a prompt.

    ``needs`` are tools without which it is not offered. ``body`` is a template, ``parts`` are the texts that it
    may include, by name. ``deprecated`` says what to use instead, "" where it is current. ``is_newest``: among
    those of its id.
    """

    domain: str
    name: str
    major: int
    title: str
    description: str
    arguments: tuple[Argument, ...]
    body: str
    parts: Mapping[str, str]
    needs: tuple[str, ...] = ()
    deprecated: str = ""
    is_newest: bool = True

    @property
    def id(self) -> str:
        """The domain and the name: "winnow/answer_question"."""
        return f"{self.domain}/{self.name}"

    @property
    def uri(self) -> str:
        """The address that pins the version: "mcp.prompt:winnow/answer_question@1"."""
        return f"{_SCHEME}{self.id}@{self.major}"

    @property
    def listed_name(self) -> str:
        """The name in lists: of the newest version without its number, of winnow's own without their domain."""
        name = self.name if self.domain == OWN_DOMAIN else f"{self.domain}.{self.name}"
        return name if self.is_newest else f"{name}@{self.major}"

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which it may be asked for."""
        newest = (self.id, f"{_SCHEME}{self.id}") if self.is_newest else ()
        pinned = f"{self.listed_name.partition('@')[0]}@{self.major}"
        return (*dict.fromkeys((self.listed_name, pinned, f"{self.id}@{self.major}", self.uri, *newest)),)

    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": {each.name: _schema_of(each) for each in self.arguments},
            "required": [each.name for each in self.arguments if each.required],
            "additionalProperties": False,
        }


def _schema_of(argument: Argument) -> dict[str, Any]:
    lists = {"enum": list(argument.choices), "examples": list(argument.examples)}
    return {
        "type": "string",
        "description": argument.asks,
        "minLength": 1,
        "maxLength": argument.max_chars,
        **{name: values for name, values in lists.items() if values},
    }
