"""Types of settings: how the text of a flag, a variable or a file becomes a value, and which values are valid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, StringConstraints

from winnow.server.models import PROJECT_NAME, PROJECT_NAME_IN_WORDS
from winnow.server.settings.addresses import Address, to_address
from winnow.server.text.suggestions import suggest

# Tools that are listed only where the setting ``tools`` names their pack.
ToolPack = Literal["research", "core", "claims", "pages"]
ToolSet = Literal["all", "code", "research", "core", "claims", "pages"]


def split_names(value: Any) -> Any:
    """The names in a text such as "a,b"; any other value as it is. Raises ValueError for commas alone."""
    if not isinstance(value, str):
        return value
    names = tuple(part.strip() for part in value.split(",") if part.strip())
    # An empty list often means "no restriction", so a list of commas must not be read as one.
    if value.strip() and not names:
        raise ValueError(f"the list contains no name: {value!r}")
    return names


def split_table(value: Any) -> Any:
    """The pairs of a text such as "a=1.5,b=0.5" or of a table."""
    if isinstance(value, str):
        value = [part.partition("=")[::2] for part in split_names(value)]
    elif isinstance(value, Mapping):
        value = value.items()
    return tuple((str(name).strip(), factor) for name, factor in value)


# Models that `winnow model install NAME` installs.
INSTALLED_MODELS = ("minilm", "bge-small", "multilingual")
EMBEDDER_NAME = re.compile(rf"({'|'.join(INSTALLED_MODELS)}|fastembed:\S+|onnx:.+|openai:https?://[^\s#]+#\S+)")


def _check_embedder(name: Address) -> Address:
    if not EMBEDDER_NAME.fullmatch(name.whole):
        raise ValueError(
            "should be minilm, bge-small, multilingual, fastembed:MODEL, onnx:FOLDER or openai:URL#MODEL"
        )
    return name


# Hosts that are asked without encryption.
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


def _check_notebook_address(address: Address) -> Address:
    if not _is_safe(address.whole):
        raise ValueError(
            "should begin with https://, or with http:// for a server on this machine, and have no key in it"
        )
    return address


def _is_safe(url: str) -> bool:
    """Whether what is sent to this address can be read by its server alone."""
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    has_more = parts.username or parts.password or parts.query or parts.fragment
    is_near = parts.scheme == "http" and parts.hostname in _THIS_MACHINE
    return is_whole and not has_more and (is_near or parts.scheme == "https")


def _check_tool_sets(names: tuple[ToolSet, ...]) -> tuple[ToolSet, ...]:
    if not names:
        raise ValueError("the list contains no name")
    if {"all", "code"} <= {*names}:
        raise ValueError("all and code exclude each other")
    return tuple(dict.fromkeys(names))


_serialize_whole = PlainSerializer(lambda address: address.whole, return_type=str)
# Displayed without user, password and query.
ServerAddress = Annotated[Address, BeforeValidator(to_address), _serialize_whole]
NotebookAddress = Annotated[ServerAddress, AfterValidator(_check_notebook_address)]
EmbedderName = Annotated[ServerAddress, AfterValidator(_check_embedder)]


def _check_project_name(name: str) -> str:
    if not _PROJECT_NAME.fullmatch(name):
        raise ValueError(
            f"{name[:_SHOWN_CHARS]!r} cannot be the name of a project: a name has {PROJECT_NAME_IN_WORDS}"
        )
    return name


_PROJECT_NAME = re.compile(PROJECT_NAME)
_SHOWN_CHARS = 80  # of a wrong name
# Tiers below the full one, and walls whose absence may be accepted: all but seccomp, without which nothing starts.
WEAKER_TIERS = ("container", "namespaces")
WALLS = (
    "not_root",
    "user_namespace",
    "network_namespace",
    "ipc_namespace",
    "host_name_namespace",
    "pid_namespace",
    "empty_root",
    "own_session",
    "descriptors",
    "capabilities",
    "dies_with_parent",
    "no_new_privileges",
    "not_dumpable",
    "landlock",
    "memory_limit",
    "cpu_limit",
    "file_limits",
    "process_limit",
    "descriptor_limit",
)


def _check_missing_walls(names: tuple[str, ...]) -> tuple[str, ...]:
    known, tiers = (*WEAKER_TIERS, *WALLS), f"tier ({', '.join(WEAKER_TIERS)})"
    for name in names:
        if name not in known:
            nearest = suggest(name.lower(), known, "winnow doctor lists the walls")
            raise ValueError(
                f"{name[:_SHOWN_CHARS]!r} is neither a {tiers} nor a wall that may be missing; {nearest}"
            )
    if len(names) > 1 and {*names} & {*WEAKER_TIERS}:
        raise ValueError(
            f"{', '.join(names)} together: name one {tiers}, or walls alone, each that is missing: winnow doctor "
            "has the line for this host"
        )
    return names


# In the environment a list is written a,b,c.
Names = Annotated[tuple[str, ...], BeforeValidator(split_names)]
Folders = Annotated[tuple[Path, ...], BeforeValidator(split_names)]
# The word among roots that stands for the libraries of Zotero; a folder of this name is "./zotero".
ZOTERO_ROOT = Path("zotero")


def _resolve_roots(value: Any) -> Any:
    """Folders are resolved when they are read: a root that becomes a link later admits nothing."""
    names = split_names(value)
    if not isinstance(names, list | tuple):
        return names
    return tuple(_resolve_root(name) if isinstance(name, str | Path) else name for name in names)


def _resolve_root(name: str | Path) -> Path:
    return ZOTERO_ROOT if str(name) == str(ZOTERO_ROOT) else Path(name).expanduser().resolve()


Roots = Annotated[tuple[Path, ...], BeforeValidator(_resolve_roots)]
Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
LabelSetting = Annotated[tuple[Label, ...], BeforeValidator(split_names)]
ProjectName = Annotated[str, AfterValidator(_check_project_name)]
MissingWalls = Annotated[Names, AfterValidator(_check_missing_walls)]
ToolSets = Annotated[tuple[ToolSet, ...], BeforeValidator(split_names), AfterValidator(_check_tool_sets)]
Factor = Annotated[float, Field(ge=0.1, le=10)]
