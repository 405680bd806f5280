"""Reads a pack of prompts: a registry, and for each prompt its specification and its versions.

    REGISTRY.yaml
    packs/DOMAIN/NAME.spec.yaml     title, description, needed tools, schema of the arguments
    packs/DOMAIN/NAME.v1.md         the text of version 1, a template
    packs/DOMAIN/parts/PART.md      what several texts include

The newest two versions of a prompt are read. A version that has other arguments than the newest has its own schema
in the specification, below ``earlier``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from server.prompts.records import OWN_DOMAIN, Argument, Prompt
from server.prompts.rendering import check_template
from server.runtime.operator_files import LeftOut, check_writers, explain_refusal, read_operator_file
from server.text.markup.bounded_yaml import YamlRefused, parse_yaml
from server.text.printable import one_line

SHIPPED = Path(__file__).parents[1] / "data" / "prompts"
REGISTRY = "REGISTRY.yaml"
_MOST_BYTES = 64 * 1024
_MOST_PARTS = 50
# Versions of a prompt that are offered: the newest and the one before.
_OFFERED = 2
_NAME = r"^[a-z][a-z0-9_-]{0,39}$"
_REASON_CHARS = 300

_Name = Annotated[str, Field(pattern=_NAME)]
_Line = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$")]
_Major = Annotated[int, Field(ge=1, le=999)]
_M = TypeVar("_M", bound=BaseModel)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class _Entry(_Model):
    """A prompt in the registry. ``deprecated`` says for a version what to use instead."""

    id: Annotated[str, Field(pattern=rf"{_NAME[:-1]}/{_NAME[1:]}")]
    versions: Annotated[list[_Major], Field(min_length=1, max_length=100)]
    deprecated: dict[_Major, _Line] = Field(default_factory=dict)


class _Registry(_Model):
    prompts: Annotated[list[_Entry], Field(max_length=200)]


class _Property(_Model):
    type: Literal["string"]
    description: _Line
    maxLength: Annotated[int, Field(ge=1, le=20_000)] = 4_000
    enum: Annotated[list[_Line], Field(max_length=100)] = Field(default_factory=list)
    examples: Annotated[list[_Line], Field(max_length=100)] = Field(default_factory=list)


class _Input(_Model):
    """The JSON Schema of arguments, as far as prompts have them: texts."""

    type: Literal["object"]
    properties: Annotated[dict[_Name, _Property], Field(max_length=10)]
    required: list[_Name] = Field(default_factory=list)
    additionalProperties: Literal[False] = False


class _Specification(_Model):
    title: _Line
    description: _Line
    needs: Annotated[list[_Name], Field(max_length=10)] = Field(default_factory=list)
    input: _Input
    earlier: dict[_Major, _Input] = Field(default_factory=dict)


class UnusablePack(Exception):
    """A file of a pack cannot be used; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Pack:
    """What a folder holds."""

    prompts: tuple[Prompt, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def read_pack(folder: Path) -> Pack:
    """The prompts of a folder in the order of its registry; one that cannot be used keeps out no others."""
    is_ours = folder == SHIPPED
    prompts: list[Prompt] = []
    left_out: list[LeftOut] = []
    try:
        if not is_ours:
            check_writers(folder, folder.stat())
        entries = _read_yaml(folder / REGISTRY, _Registry, is_ours=is_ours).prompts
    except (OSError, UnusablePack) as error:
        return Pack((), (LeftOut(str(folder), one_line(str(error), _REASON_CHARS)),))
    for entry in entries:
        try:
            prompts += _read_prompt(folder, entry, is_ours=is_ours)
        except (OSError, UnusablePack) as error:
            left_out.append(LeftOut(f"{folder}: {entry.id}", one_line(str(error), _REASON_CHARS)))
    return Pack(tuple(prompts), tuple(left_out))


def _read_prompt(folder: Path, entry: _Entry, *, is_ours: bool) -> Sequence[Prompt]:
    domain, _, name = entry.id.partition("/")
    if domain == OWN_DOMAIN and not is_ours:
        raise UnusablePack(f"the domain {OWN_DOMAIN} is for the prompts that come with winnow; use another one")
    own = folder / "packs" / domain
    specification = _read_yaml(own / f"{name}.spec.yaml", _Specification, is_ours=is_ours)
    parts = {f"parts/{path.name}": _read(path, is_ours=is_ours) for path in _list_parts(own / "parts")}
    majors = sorted(set(entry.versions), reverse=True)[:_OFFERED]
    return [
        _build(
            Prompt(
                domain,
                name,
                major,
                specification.title,
                specification.description,
                _arguments(specification.earlier.get(major, specification.input)),
                _read(own / f"{name}.v{major}.md", is_ours=is_ours),
                parts,
                tuple(specification.needs),
                entry.deprecated.get(major, ""),
                is_newest=major == majors[0],
            )
        )
        for major in majors
    ]


def _build(prompt: Prompt) -> Prompt:
    try:
        check_template(prompt)
    except ValueError as error:
        raise UnusablePack(f"{prompt.name}.v{prompt.major}.md: {error}") from None
    return prompt


def _arguments(stated: _Input) -> tuple[Argument, ...]:
    missing = [name for name in stated.required if name not in stated.properties]
    if missing:
        raise UnusablePack(f"input.required names {missing[0]!r}, which is not among its properties")
    return tuple(
        Argument(
            name,
            each.description,
            name in stated.required,
            each.maxLength,
            tuple(each.enum),
            tuple(each.examples),
        )
        for name, each in stated.properties.items()
    )


def _list_parts(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(path for path in folder.iterdir() if path.suffix == ".md")[:_MOST_PARTS]


def _read_yaml(path: Path, model: type[_M], *, is_ours: bool) -> _M:
    try:
        return model.model_validate(parse_yaml(_read(path, is_ours=is_ours)))
    except ValidationError as error:
        raise UnusablePack(f"{path.name}: {explain_refusal(error)}") from None
    except (YamlRefused, ValueError) as error:
        raise UnusablePack(f"{path.name}: {error}") from None


def _read(path: Path, *, is_ours: bool) -> str:
    """The text of a file. Raises ``UnusablePack`` where it is missing, too large, or not UTF-8."""
    try:
        text = read_operator_file(path, _MOST_BYTES, is_ours=is_ours)
    except PermissionError:
        raise
    except OSError as error:
        raise UnusablePack(f"{path.name}: {error.strerror or 'it cannot be read'}") from None
    except UnicodeDecodeError:
        raise UnusablePack(f"{path.name}: it is not UTF-8") from None
    if len(text) > _MOST_BYTES:
        raise UnusablePack(f"{path.name}: it is larger than {_MOST_BYTES // 1024} KiB")
    return text
