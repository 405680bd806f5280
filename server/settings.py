"""Everything that can be set, in one frozen model.

Each setting has one name: ``--flag`` on the command line, ``WINNOW_FLAG`` in the environment, ``flag`` in
``winnow.toml`` (in the working folder, or the file named by ``WINNOW_CONFIG``), in that order of precedence.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

MIB = 1024 * 1024


def _home(variable: str, fallback: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / fallback)


def default_store() -> Path:
    """Where the index lives unless told otherwise: the platform's data folder."""
    return _home("XDG_DATA_HOME", ".local/share") / "winnow"


def default_models() -> Path:
    """Where converted models are kept: the platform's cache folder."""
    return _home("XDG_CACHE_HOME", ".cache") / "winnow" / "models"


class Settings(BaseSettings):
    """What is in force. Frozen: a change is a new object."""

    model_config = SettingsConfigDict(
        env_prefix="WINNOW_",
        toml_file=os.environ.get("WINNOW_CONFIG", "winnow.toml"),
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
    projects: tuple[str, ...] = Field(
        default=(), max_length=1000, description="projects in reach; empty: only `project`"
    )
    embedding: Literal["auto", "off"] = Field(default="auto", description="off: lexical search only")
    fusion: Literal["convex", "rrf"] = Field(default="convex", description="how the legs are joined")
    qdrant_url: str | None = Field(default=None, description="a Qdrant server instead of the embedded index")
    qdrant_api_key: SecretStr | None = Field(default=None, description="key of that server")

    default_response_mode: Literal["ids_only", "metadata", "preview", "full"] = "metadata"
    content: Literal["dense", "summary"] = "dense"
    tool_names: Literal["underscore", "dotted"] = "underscore"
    execute_code: Literal["on", "off"] = "on"
    allow_weaker_sandbox: tuple[str, ...] = Field(
        default=(), description="walls whose absence is accepted; must name exactly what is missing"
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
        """Flags, then environment, then file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @property
    def reachable(self) -> tuple[str, ...]:
        """The projects a caller may name."""
        return self.projects or (self.project,)

    @property
    def memory_bytes(self) -> int:
        """`memory_mb` in bytes."""
        return self.memory_mb * MIB

    def with_flags(self, **flags: Any) -> Settings:
        """These settings with every flag that was given (is not None) put over them."""
        given = {name: value for name, value in flags.items() if value is not None}
        return Settings(**{**self.model_dump(), **given})
