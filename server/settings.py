"""Everything that can be set, in one frozen model.

Each setting has one name: ``--flag`` on the command line, ``WINNOW_FLAG`` in the environment, ``flag`` in
``winnow.toml`` (in the working folder, or the file named by ``WINNOW_CONFIG``), in that order of precedence.
Two rollback switches are also read from the ``MCP_*`` variables that such servers share, after ``WINNOW_*``.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from tomllib import TOMLDecodeError
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr, StringConstraints, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from server.errors import WinnowError
from server.models import Environment

MIB = 1024 * 1024

# Variables that a setting is also read from.
_ALSO: Mapping[str, str] = MappingProxyType(
    {
        "kb_v2_enabled": "MCP_KB_V2_ENABLED",
        "structured_output_enabled": "MCP_STRUCTURED_OUTPUT_ENABLED",
    }
)


def config_file() -> Path:
    """The settings file: ``WINNOW_CONFIG``, or ``winnow.toml`` in the working folder."""
    return Path(os.environ.get("WINNOW_CONFIG") or "winnow.toml")


def _home(variable: str, fallback: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / fallback)


def default_store() -> Path:
    """Where the index lives unless told otherwise: the platform's data folder."""
    return _home("XDG_DATA_HOME", ".local/share") / "winnow"


def default_models() -> Path:
    """Where converted models are kept: the platform's cache folder."""
    return _home("XDG_CACHE_HOME", ".cache") / "winnow" / "models"


def _split(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    names = tuple(part.strip() for part in value.split(",") if part.strip())
    # An empty list often means "no restriction": a slip must not turn one into the other.
    if value.strip() and not names:
        raise ValueError(f"names no name: {value!r}")
    return names


# In the environment a list is written a,b,c.
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Labels = Annotated[tuple[Label, ...], NoDecode, BeforeValidator(_split)]


class Settings(BaseSettings):
    """What is in force. Frozen: a change is a new object."""

    model_config = SettingsConfigDict(
        env_prefix="WINNOW_",
        frozen=True,
        extra="forbid",
        env_ignore_empty=True,
    )

    store: Path = Field(default_factory=default_store, description="folder that holds index and catalogue")
    models: Path = Field(default_factory=default_models, description="folder that holds converted models")
    project: str = Field(
        default="default",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,63}$",
        description="project that is searched",
    )
    projects: Names = Field(default=(), max_length=1000, description="projects in reach; empty: only `project`")
    doc_tags: Labels = Field(
        default=(), max_length=1000, description="only documents with one of these doc tags; empty: any"
    )
    environment: Environment | Literal[""] = Field(
        default="", description="only documents of this environment: dev, prod or scratch; empty: any"
    )
    repositories: Labels = Field(
        default=(), max_length=1000, description="only documents of one of these repositories; empty: any"
    )
    embedding: Literal["auto", "off"] = Field(default="auto", description="off: lexical search only")
    fusion: Literal["convex", "rrf"] = Field(default="convex", description="how the legs are joined")
    qdrant_url: str | None = Field(default=None, description="a Qdrant server instead of the embedded index")
    qdrant_api_key: SecretStr | None = Field(default=None, description="key of that server")
    graph: Literal["auto", "off"] = Field(
        default="off", description="auto: ingests draw a knowledge graph and searches use it; off: neither"
    )
    neo4j_url: str | None = Field(
        default=None, description="a Neo4j server (bolt:// or neo4j://) for the graph instead of the embedded one"
    )
    neo4j_user: str = Field(default="neo4j", description="user of that server")
    neo4j_password: SecretStr | None = Field(default=None, description="password of that user")
    entities: Path | None = Field(
        default=None, description="a file of your own names, aliases and patterns (entities.toml)"
    )
    daemon: Literal["on", "off"] = Field(
        default="on",
        description="on: servers of one store share one engine process, where the system allows it; off: this "
        "process works alone, and holds the store",
    )
    engine_idle_minutes: float = Field(
        default=5.0, ge=0.001, le=1440, description="how long an engine stays after its last client"
    )

    default_response_mode: Literal["ids_only", "metadata", "preview", "full"] = "metadata"
    content: Literal["dense", "summary"] = "dense"
    structured_output_enabled: bool = Field(
        default=True,
        description="off, to roll back: answers are minified JSON text; no structuredContent, no outputSchema",
    )
    resource_links: Literal["on", "off"] = Field(
        default="on", description="off: results carry the URI of a passage, but no link to it beside them"
    )
    tool_names: Literal["underscore", "dotted"] = "underscore"
    kb_v2_enabled: bool = Field(
        default=True, description="off, to roll back: no kb_* tools are listed, but the legacy tools instead"
    )
    legacy_tools: bool = Field(
        default=False, description="list search_sections and get_section_text beside the kb_* tools"
    )
    evidence: Literal["lexical", "dense"] = Field(
        default="lexical",
        description="how quotes are scored; lexical: by their words, dense: also by the embedding model",
    )
    scratch_mb: int = Field(default=256, ge=1, le=4096, description="memory for the passages that sessions hold")
    scratch_minutes: float = Field(
        default=30.0, ge=0.01, le=1440, description="how long a session's passage is held"
    )
    execute_code: Literal["on", "off"] = "on"
    sandbox: Literal["auto", "monty", "seatbelt"] = Field(
        default="auto",
        description="what runs scripts; auto: CPython behind kernel walls, monty: a smaller language, "
        "seatbelt: macOS, not yet seen to hold",
    )
    allow_weaker_sandbox: Names = Field(
        default=(), description="walls whose absence is accepted; must name exactly what is missing"
    )

    limits: Literal["standard", "strict"] = Field(
        default="standard", description="what one script may call, read and return; strict: about a tenth"
    )
    wall_seconds: float = Field(default=30.0, ge=1, le=60, description="default time limit of one script")
    memory_mb: int = Field(default=512, ge=64, le=4096, description="memory limit of one script")
    workers: int = Field(default=max(2, os.cpu_count() or 2), ge=1, le=64, description="scripts at once")
    queue: int = Field(default=50, ge=0, le=1000, description="scripts that may wait")
    queue_seconds: float = Field(default=60.0, ge=0, le=600, description="how long a script may wait")
    log_queries: bool = Field(default=False, description="log query text instead of its hash")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then environment (``WINNOW_*``, then what is shared), then file."""
        shared = {name: os.environ[variable] for name, variable in _ALSO.items() if os.environ.get(variable)}
        return (
            init_settings,
            env_settings,
            InitSettingsSource(settings_cls, init_kwargs=shared),
            TomlConfigSettingsSource(settings_cls, toml_file=config_file()),
        )

    @property
    def reachable(self) -> tuple[str, ...]:
        """The projects a caller may name."""
        return self.projects or (self.project,)

    @property
    def memory_bytes(self) -> int:
        """`memory_mb` in bytes."""
        return self.memory_mb * MIB


def load_settings(**flags: Any) -> Settings:
    """The settings in force with these flags (None: not given).

    Raises:
        WinnowError: INVALID_REQUEST naming each setting that is wrong, and where it was set.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        wrong = "; ".join(_complaint(item["loc"], item["msg"], given) for item in error.errors(include_url=False))
        raise WinnowError("INVALID_REQUEST", f"settings: {wrong}") from None
    except (TOMLDecodeError, SettingsError) as error:
        raise WinnowError("INVALID_REQUEST", f"settings: {config_file()} or the environment: {error}") from None


def _complaint(location: tuple[int | str, ...], message: str, flags: Mapping[str, Any]) -> str:
    name = str(location[0]) if location else "settings"
    message = f"{message[:1].lower()}{message[1:]}"
    return f"{name}: {message} (from {source_of(name, flags)})"


def source_of(name: str, flags: Mapping[str, Any] | None = None) -> str:
    """Where a setting comes from: its flag, its variable, the file, or "default"."""
    if flags and name in flags:
        return f"--{name.replace('_', '-')}"
    for variable in (f"WINNOW_{name.upper()}", _ALSO.get(name, "")):
        if os.environ.get(variable):
            return variable
    return str(config_file()) if name in _file_values() else "default"


def _file_values() -> Mapping[str, Any]:
    try:
        return tomllib.loads(config_file().read_text("utf-8"))
    except (OSError, UnicodeDecodeError, TOMLDecodeError):
        return {}
