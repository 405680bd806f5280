"""Reads a pack of prompts: a registry, and for each prompt its specification and its versions.

    REGISTRY.yaml
    packs/DOMAIN/NAME.spec.yaml     title, description, needed tools, schema of the arguments
    packs/DOMAIN/NAME.v1.md         the text of version 1, a template
    packs/DOMAIN/parts/PART.md      what several texts include

The newest two versions of a prompt are read. A version that has other arguments than the newest has its own schema
in the specification, below ``earlier``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from winnow.server import DATA
from winnow.server.runtime.operator_files import (
    LeftOut,
    UnusableText,
    check_below,
    check_writers,
    explain_refusal,
    read_operator_file,
)
from winnow.server.text.markup.bounded_yaml import YamlRefused, parse_yaml
from winnow.server.text.printable import one_line
from winnow.server.tools.prompts.records import OWN_DOMAIN, Argument, Prompt
from winnow.server.tools.prompts.rendering import check_template

SHIPPED = DATA / "prompts"
REGISTRY = "REGISTRY.yaml"
_MOST_BYTES = 64 * 1024
_MOST_PARTS = 50
_MOST_UNNAMED = 10  # prompts outside the registry that notes name
# Versions of a prompt that are offered: the newest and the one before.
_OFFERED = 2
_NAME = r"^[a-z][a-z0-9_-]{0,39}$"
_REASON_CHARS = 300
# Field and kind of error -> what the field takes, where the words of the validation do not say it.
_WORDS: Mapping[tuple[str, str], str] = {
    ("id", "string_pattern_mismatch"): "an id is DOMAIN/NAME, in lower-case letters, digits, - and _",
    ("deprecated", "dict_type"): "it names versions and what to use instead, as {1: use team.compare}",
    ("versions", "list_type"): "it lists the numbers of the versions, as [1, 2]",
    ("prompts", "missing"): "it lists the prompts, as prompts: [{id: team/compare, versions: [1]}]",
}

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

    @property
    def domain(self) -> str:
        """The folder of the prompt, below ``packs``."""
        return self.id.partition("/")[0]

    @property
    def name(self) -> str:
        """The first part of the names of its files."""
        return self.id.partition("/")[2]


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
    """The contents of a folder. ``notes`` are sentences about what may be a mistake, and is used all the same."""

    prompts: tuple[Prompt, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


def read_pack(folder: Path) -> Pack:
    """The prompts of a folder in the order of its registry; one that cannot be used keeps out no others."""
    reader = _Reader(folder, is_ours=folder == SHIPPED)
    try:
        registry = reader.read_registry()
        for entry in registry.prompts:
            reader.add(entry)
        reader.note_unnamed(registry)
    except (OSError, UnusablePack) as error:
        return Pack((), (LeftOut(str(folder), _explain(error)),))
    return Pack(tuple(reader.prompts), tuple(reader.left_out), tuple(reader.notes))


class _Reader:
    """Reads one folder, prompt by prompt."""

    def __init__(self, folder: Path, *, is_ours: bool) -> None:
        self._folder = folder
        self._is_ours = is_ours
        self.prompts: list[Prompt] = []
        self.left_out: list[LeftOut] = []
        self.notes: list[str] = []

    def read_registry(self) -> _Registry:
        """The registry. Raises ``OSError`` or ``UnusablePack``."""
        if not self._is_ours:
            check_writers(self._folder, self._folder.stat())
        return self._read_yaml(REGISTRY, _Registry)

    def add(self, entry: _Entry) -> None:
        """Read the newest two versions of a prompt; one that cannot be used does not keep out the other."""
        try:
            specification, parts = self._read_shared(entry)
        except (OSError, UnusablePack) as error:
            self.left_out.append(LeftOut(f"{self._folder}: {entry.id}", _explain(error)))
            return
        majors = sorted(set(entry.versions), reverse=True)[:_OFFERED]
        for major in majors:
            try:
                self._add_version(entry, major, specification, parts, is_newest=major == majors[0])
            except (OSError, UnusablePack) as error:
                self.left_out.append(LeftOut(f"{self._folder}: {entry.id}@{major}", _explain(error)))
        self.notes += self._find_unlisted(entry)

    def _read_shared(self, entry: _Entry) -> tuple[_Specification, Mapping[str, str]]:
        domain = entry.domain
        if domain == OWN_DOMAIN and not self._is_ours:
            raise UnusablePack(
                f"the domain {OWN_DOMAIN} is for the prompts that come with winnow; use another one"
            )
        if wrong := sorted(set(entry.deprecated) - set(entry.versions)):
            raise UnusablePack(f"{REGISTRY}: deprecated names version {wrong[0]}, which is not among its versions")
        specification = self._read_yaml(f"packs/{domain}/{entry.name}.spec.yaml", _Specification)
        names = [path.name for path in _list_parts(self._folder / "packs" / domain / "parts")]
        return specification, {f"parts/{name}": self._read(f"packs/{domain}/parts/{name}") for name in names}

    def _add_version(
        self,
        entry: _Entry,
        major: int,
        specification: _Specification,
        parts: Mapping[str, str],
        *,
        is_newest: bool,
    ) -> None:
        file = f"packs/{entry.domain}/{entry.name}.v{major}.md"
        prompt = Prompt(
            entry.domain,
            entry.name,
            major,
            specification.title,
            specification.description,
            _arguments(specification.earlier.get(major, specification.input)),
            self._read(file),
            parts,
            tuple(specification.needs),
            entry.deprecated.get(major, ""),
            is_newest,
        )
        try:
            used = check_template(prompt)
        except ValueError as error:
            raise UnusablePack(f"{file}: {error}") from None
        self.prompts.append(prompt)
        unused = [each.name for each in prompt.arguments if each.name not in used]
        self.notes += [f"{file} does not use the argument {name!r}" for name in unused]

    def note_unnamed(self, registry: _Registry) -> None:
        """Note the specifications and texts of prompts that the registry does not name."""
        named = {entry.id for entry in registry.prompts}
        found = {
            f"{path.parent.name}/{path.name.partition('.')[0]}"
            for pattern in ("*/*.v*.md", "*/*.spec.yaml")
            for path in (self._folder / "packs").glob(pattern)
        }
        unnamed = sorted(found - named)
        self.notes += [
            f"packs/{one_line(id)}: {REGISTRY} does not name this prompt, so it is not offered"
            for id in unnamed[:_MOST_UNNAMED]
        ]
        if len(unnamed) > _MOST_UNNAMED:
            self.notes.append(f"{REGISTRY} does not name {len(unnamed) - _MOST_UNNAMED} further prompts")

    def _find_unlisted(self, entry: _Entry) -> Iterator[str]:
        own = self._folder / "packs" / entry.domain
        for path in sorted(own.glob(f"{entry.name}.v*.md")):
            number = path.name.removeprefix(f"{entry.name}.v").removesuffix(".md")
            if number.isdecimal() and int(number) not in entry.versions:
                yield f"packs/{entry.domain}/{path.name} is not among the versions that {REGISTRY} lists"

    def _read_yaml(self, name: str, model: type[_M]) -> _M:
        text = self._read(name)
        try:
            return model.model_validate(parse_yaml(text))
        except ValidationError as error:
            raise UnusablePack(f"{name}: {explain_refusal(error, _WORDS)}") from None
        except (YamlRefused, ValueError) as error:
            raise UnusablePack(f"{name}: {error}") from None

    def _read(self, name: str) -> str:
        """The text of a file. Raises ``UnusablePack`` where it is missing, too large, or not UTF-8.

        Raises ``PermissionError`` for a link, and for what others may write.
        """
        try:
            if not self._is_ours:
                check_below(self._folder, name)
            return read_operator_file(self._folder / name, _MOST_BYTES, is_ours=self._is_ours)
        except PermissionError:
            raise
        except FileNotFoundError:
            raise UnusablePack(f"{name} is not there") from None
        except OSError as error:
            raise UnusablePack(f"{name}: {error.strerror or 'it cannot be read'}") from None
        except UnusableText as error:
            raise UnusablePack(f"{name}: {error}") from None


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


def _explain(error: OSError | UnusablePack) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such folder"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return one_line(text, _REASON_CHARS)
