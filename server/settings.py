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
from typing import Annotated, Any, Literal, get_args

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
from server.models import DocumentType, Environment

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


def _table(value: Any) -> Any:
    if isinstance(value, str):
        value = [part.partition("=")[::2] for part in _split(value)]
    elif isinstance(value, Mapping):
        value = value.items()
    return tuple((str(name).strip(), factor) for name, factor in value)


_TYPES = get_args(DocumentType)
# In the environment a list is written a,b,c.
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Folders = Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_split)]
Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Labels = Annotated[tuple[Label, ...], NoDecode, BeforeValidator(_split)]


Factor = Annotated[float, Field(ge=0.1, le=10)]
# In the environment a table is written a=1.5,b=0.5.
Factors = Annotated[
    tuple[tuple[DocumentType, Factor], ...], NoDecode, BeforeValidator(_table), Field(max_length=len(_TYPES))
]


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
    embedder: str = Field(
        default="minilm",
        pattern=r"^(minilm|fastembed:\S+|onnx:.+|openai:https?://[^\s#]+#\S+)$",
        description="the embedding model: minilm, fastembed:MODEL, onnx:FOLDER, or openai:URL#MODEL, "
        "an endpoint to which texts are sent",
    )
    embedder_key: SecretStr | None = Field(default=None, description="key of that endpoint")
    fusion: Literal["convex", "rrf"] = Field(default="convex", description="how the legs are joined")
    boost_vendor: Factor = Field(default=1.0, description="factor for documents of a vendor that the query names")
    boost_types: Factors = Field(default=(), description="factors by document type: code=0.8,markdown=1.2")
    boost_recency: Factor = Field(
        default=1.0, description="factor for a document of today; its distance from 1 halves with age"
    )
    boost_recency_days: float = Field(default=365.0, ge=1, le=36_500, description="after so many days it is half")
    boost_entity: Factor = Field(
        default=1.0, description="factor for documents whose title or heading the query names"
    )
    boost_topic: Factor = Field(default=1.0, description="factor for documents with a tag that the query names")
    reranker: Path | None = Field(
        default=None,
        description="a folder with a cross-encoder (model.onnx, tokenizer.json) that reads the best results again",
    )
    rerank_top: int = Field(default=24, ge=1, le=100, description="how many of the best results it reads")
    mmr: float = Field(
        default=1.0, ge=0, le=1, description="below 1: results unlike those before them come first, the more so"
    )
    index_memory_mb: int = Field(
        default=4096,
        ge=256,
        le=1024 * 1024,
        description="memory that writing the embedded index may take; less: smaller parts, built more often",
    )
    qdrant_url: str | None = Field(default=None, description="a Qdrant server instead of the embedded index")
    qdrant_api_key: SecretStr | None = Field(default=None, description="key of that server")
    qdrant_shards: int = Field(
        default=1, ge=1, le=256, description="parts that a new collection on that server is cut into"
    )
    qdrant_replicas: int = Field(
        default=1, ge=1, le=32, description="copies of each part that a new collection on that server has"
    )
    qdrant_on_disk: bool = Field(
        default=True,
        description="whole vectors of a new collection stay on that server's disk; off: in its memory",
    )
    graph: Literal["auto", "off"] = Field(
        default="auto", description="auto: ingests draw a knowledge graph and searches use it; off: neither"
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
    tools: Literal["all", "code"] = Field(
        default="all", description="code: list execute_code, kb_retrieve_evidence and help alone"
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

    skills: Folders = Field(
        default=(), max_length=20, description="folders with functions of yours that scripts may import"
    )
    limits: Literal["standard", "strict"] = Field(
        default="standard", description="what one script may call, read and return; strict: about a tenth"
    )
    wall_seconds: float = Field(default=30.0, ge=1, le=60, description="default time limit of one script")
    memory_mb: int = Field(default=512, ge=64, le=4096, description="memory limit of one script")
    workers: int = Field(default=max(2, os.cpu_count() or 2), ge=1, le=64, description="scripts at once")
    queue: int = Field(default=50, ge=0, le=1000, description="scripts that may wait")
    queue_seconds: float = Field(default=60.0, ge=0, le=600, description="how long a script may wait")
    audit: Literal["on", "off"] = Field(
        default="on", description="off: no line is written for each script that runs (winnow audit)"
    )
    audit_mb: float = Field(default=16.0, ge=0.01, le=1024, description="size of one file of that log")
    audit_days: int = Field(default=90, ge=1, le=3650, description="how long its files are kept")
    log_queries: bool = Field(
        default=False, description="log query text, and the source of scripts, instead of their hash"
    )

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
    def audit_folder(self) -> Path:
        """Where it is written what scripts did."""
        return self.store / "audit"

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
