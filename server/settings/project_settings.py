"""The settings of a project, and their form as JSON in the catalogue and in archives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from winnow.server.errors import WinnowError, own_words
from winnow.server.models import PROJECT_NAME, PROJECT_NAME_IN_WORDS, CitationStyle, Environment
from winnow.server.text.printable import one_line

Fusion = Literal["convex", "rrf"]

_NAMED = 20  # names that an error lists
_NAME_CHARS = 80
_NAME = re.compile(PROJECT_NAME)

_PLAIN = r"^[^\x00-\x1f\x7f]*$"
_Label = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200, pattern=_PLAIN)]
_Identity = Annotated[str, StringConstraints(strip_whitespace=True, max_length=500, pattern=_PLAIN)]
# ISO 639-1 or 639-2/3, with a script or region where an OCR engine tells them apart ("zh-Hans", "chi_sim").
_Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}([_-][A-Za-z]{2,8})?$")]


class ProjectLabels(BaseModel):
    """The labels of a project's documents that state none; "" is no label."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    doc_tag: _Label = ""
    environment: Environment | Literal[""] = ""
    repository: _Label = ""


class ProjectSettings(BaseModel):
    """The settings of one project. Frozen; ``ProjectSettings()`` has the defaults.

    ``top_k`` is the default of the research queries and the most they return; ``max_chars_per_chunk`` the most
    characters of a passage that they show. ``fusion`` is "" for the store's. ``hybrid``: searches use both legs;
    off: the dense leg alone. ``embedder`` is the identity that its vectors must have, "" for that of any model.
    ``labels`` are for ingested documents that state none. ``languages`` are for OCR, the preferred first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    top_k: Annotated[int, Field(strict=True, ge=1, le=100)] = 6
    max_chars_per_chunk: Annotated[int, Field(strict=True, ge=200, le=20_000)] = 1800
    fusion: Fusion | Literal[""] = ""
    hybrid: Annotated[bool, Field(strict=True)] = True
    embedder: _Identity = ""
    labels: ProjectLabels = ProjectLabels()
    languages: Annotated[tuple[_Language, ...], Field(max_length=20)] = ()
    citation_style: CitationStyle = "pandoc"


def settings_to_json(settings: ProjectSettings) -> str:
    """The settings as one line of JSON, with every key."""
    return settings.model_dump_json()


def settings_from_json(project: str, text: str) -> ProjectSettings:
    """The settings that ``settings_to_json`` wrote; a missing key has its default.

    Raises ``WinnowError("INDEX_UNAVAILABLE")`` for any other text: another version of winnow wrote it.
    """
    try:
        return ProjectSettings.model_validate_json(text)
    except ValidationError as error:
        raise WinnowError(
            "INDEX_UNAVAILABLE",
            f"the settings of project {project!r} cannot be read: {describe_flaw(error)}; use the version of "
            f"winnow that wrote them, or set them anew: winnow project set {project} --reset all",
        ) from None


def make_settings(fields: dict[str, object]) -> ProjectSettings:
    """The settings with these values. Raises ``WinnowError("INVALID_REQUEST")`` that names the wrong one."""
    try:
        return ProjectSettings.model_validate(fields)
    except ValidationError as error:
        raise WinnowError("INVALID_REQUEST", f"project settings: {describe_flaw(error)}") from None


def describe_flaw(error: ValidationError) -> str:
    """The first flaw in a few words: where it is, and what is wrong."""
    flaw = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, flaw["loc"]))
    message = own_words(flaw["msg"])
    what = f"{message[:1].lower()}{message[1:]}"
    return one_line(f"{where}: {what}" if where else what)


def check_name(name: str) -> str:
    """The name of a project. Raises ``WinnowError("INVALID_REQUEST")`` if no project can have it."""
    if not _NAME.fullmatch(name):
        raise WinnowError(
            "INVALID_REQUEST",
            f"{one_line(name, _NAME_CHARS)!r} cannot be the name of a project: a name has {PROJECT_NAME_IN_WORDS}",
        )
    return name


def unknown_project(name: str, available: Iterable[str], *, can_create: bool = True) -> WinnowError:
    """The error for a project that does not exist, with the names of those that do.

    ``can_create``: whether the caller could create it first and then go on.
    """
    return WinnowError(
        "INVALID_PROJECT",
        f"there is no project {one_line(name, _NAME_CHARS)!r}; projects: {join_names(sorted(available))}"
        f"{'. Create one with: winnow project create NAME' if can_create else ''}",
    )


def join_names(names: Sequence[str]) -> str:
    """The first of these names of projects, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more if names else "none yet"
