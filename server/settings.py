"""Everything that can be set, in one frozen model; ``load`` puts it together.

Each setting has one name: ``--flag`` on the command line, ``WINNOW_FLAG`` in the environment, ``flag`` in a
``winnow.toml``; the nearest source wins (``server.configuration.sources``).
``server.configuration.topics`` has the table of them, with who may set what.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
    StringConstraints,
    ValidationError,
)

from server.configuration.addresses import Address, to_address
from server.configuration.sources import IgnoredValue, Source, SourcedValue, SourceRank, sources, user_file
from server.configuration.topics import KEYS, SETTERS, Setter
from server.errors import WinnowError
from server.models import DocumentType, Environment
from server.text.printable import one_line

MIB = 1024 * 1024


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


_EMBEDDER = re.compile(r"(minilm|fastembed:\S+|onnx:.+|openai:https?://[^\s#]+#\S+)")


def _check_embedder(name: Address) -> Address:
    if not _EMBEDDER.fullmatch(name.whole):
        raise ValueError("should be minilm, fastembed:MODEL, onnx:FOLDER or openai:URL#MODEL")
    return name


_written = PlainSerializer(lambda address: address.whole, return_type=str)
# They show themselves without user, password and query.
ServerAddress = Annotated[Address, BeforeValidator(to_address), _written]
EmbedderName = Annotated[ServerAddress, AfterValidator(_check_embedder)]

_TYPES = get_args(DocumentType)
# In the environment a list is written a,b,c.
Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
Folders = Annotated[tuple[Path, ...], BeforeValidator(_split)]
Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Labels = Annotated[tuple[Label, ...], BeforeValidator(_split)]


Factor = Annotated[float, Field(ge=0.1, le=10)]
# In the environment a table is written a=1.5,b=0.5.
Factors = Annotated[
    tuple[tuple[DocumentType, Factor], ...], BeforeValidator(_table), Field(max_length=len(_TYPES))
]


class Settings(BaseModel):
    """What is in force. Frozen: a change is a new object. Made of nothing, it has the defaults alone."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

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
    embedder: EmbedderName = Field(
        default=Address("minilm"),
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
    qdrant_url: ServerAddress | None = Field(
        default=None, description="a Qdrant server instead of the embedded index"
    )
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
    neo4j_url: ServerAddress | None = Field(
        default=None, description="a Neo4j server (bolt:// or neo4j://) for the graph instead of the embedded one"
    )
    neo4j_user: str = Field(default="neo4j", description="user of that server")
    neo4j_password: SecretStr | None = Field(default=None, description="password of that user")
    entities: Path | None = Field(
        default=None, description="a file of your own names, aliases and patterns (entities.toml)"
    )
    daemon: Literal["on", "off"] = Field(
        default="on",
        description="share one engine process with the other servers of the store, where the system allows "
        "it; off: this process works alone, and holds the store",
    )
    engine_idle_minutes: float = Field(
        default=5.0, ge=0.001, le=1440, description="how long an engine stays after its last client"
    )

    default_response_mode: Literal["ids_only", "metadata", "preview", "full"] = Field(
        default="metadata", description="how much of each result semantic_search shows unless asked for more"
    )
    content: Literal["dense", "summary"] = Field(
        default="dense",
        description="the text beside an answer's structure; dense: all of it, summary: its first line",
    )
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
    tool_names: Literal["underscore", "dotted"] = Field(
        default="underscore", description="how tool names are listed: kb_search or kb.search; both can be called"
    )
    kb_v2_enabled: bool = Field(
        default=True, description="off, to roll back: no kb_* tools are listed, but the legacy tools instead"
    )
    legacy_tools: bool = Field(
        default=False, description="list search_sections and get_section_text beside the kb_* tools"
    )
    evidence: Literal["lexical", "dense"] = Field(
        default="dense",
        description="how quotes are scored; lexical: by their words, dense: also by the embedding model",
    )
    scratch_mb: int = Field(default=256, ge=1, le=4096, description="memory for the passages that sessions hold")
    scratch_minutes: float = Field(
        default=30.0, ge=0.01, le=1440, description="how long a session's passage is held"
    )
    execute_code: Literal["on", "off"] = Field(
        default="on", description="offer scripts, where every wall of the sandbox stands"
    )
    sandbox: Literal["auto", "monty"] = Field(
        default="auto",
        description="what runs scripts; auto: CPython behind kernel walls (Linux only), monty: a smaller language",
    )
    allow_weaker_sandbox: Names = Field(
        default=(), description="a wall whose absence is accepted; together they name exactly what is missing"
    )

    skills: Folders = Field(
        default=(), max_length=20, description="folders with functions of yours that scripts may import"
    )
    limits: Literal["standard", "strict"] = Field(
        default="standard", description="what one script may call, read and return; strict: about a tenth"
    )
    script_calls: int | None = Field(
        default=None, ge=1, le=10_000, description="SDK calls of one script, instead of what `limits` says"
    )
    script_rows: int | None = Field(
        default=None, ge=1, le=100_000, description="ids and metadata rows of one script, likewise"
    )
    script_previews: int | None = Field(
        default=None, ge=1, le=10_000, description="previews and quotes of one script, likewise"
    )
    script_documents: int | None = Field(
        default=None, ge=1, le=10_000, description="excerpts and whole passages of one script, likewise"
    )
    result_kb: int | None = Field(default=None, ge=1, le=64, description="size of a script's result, likewise")
    result_tokens: int | None = Field(
        default=None, ge=100, le=20_000, description="tokens of a script's result, likewise"
    )
    wall_seconds: float = Field(default=30.0, ge=1, le=60, description="default time limit of one script")
    memory_mb: int = Field(default=512, ge=64, le=4096, description="memory limit of one script")
    workers: int = Field(default=max(2, os.cpu_count() or 2), ge=1, le=64, description="scripts at once")
    queue: int = Field(default=50, ge=0, le=1000, description="scripts that may wait")
    queue_seconds: float = Field(default=60.0, ge=0, le=600, description="how long a script may wait")
    calls_per_minute: int = Field(
        default=100, ge=1, le=100_000, description="direct tool calls that one caller may make in a minute"
    )
    scripts_per_minute: int = Field(
        default=30, ge=1, le=100_000, description="scripts that one caller may start in a minute"
    )
    reads_per_minute: int = Field(
        default=100,
        ge=1,
        le=100_000,
        description="resources, prompts and completions that one caller may ask for in a minute",
    )
    audit: Literal["on", "off"] = Field(
        default="on", description="off: no line is written for each call of a tool and each script (winnow audit)"
    )
    audit_mb: float = Field(default=16.0, ge=0.01, le=1024, description="size of one file of that log")
    audit_days: int = Field(default=90, ge=1, le=3650, description="how long its lines are kept")
    log_queries: bool = Field(
        default=False, description="log query text, and the source of scripts, instead of their hash"
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


# Variables that a setting is also read from.
_ALSO: Mapping[str, str] = MappingProxyType(
    {"kb_v2_enabled": "MCP_KB_V2_ENABLED", "structured_output_enabled": "MCP_STRUCTURED_OUTPUT_ENABLED"}
)
_MAY_NOT: Mapping[SourceRank, str] = MappingProxyType(
    {
        SourceRank.USER_FILE: "only a flag, a variable or the file that WINNOW_CONFIG names may set it",
        SourceRank.FOLDER_FILE: "a file in the working folder may not set it",
    }
)
_NO_FLAGS: Mapping[str, Any] = MappingProxyType({})


def load_settings(**flags: Any) -> Settings:
    """The settings in force with these flags (None: not given).

    Raises:
        WinnowError: INVALID_REQUEST naming each setting that is wrong, and where it was set.
    """
    return load(flags).settings


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings in force, where each value that is no default was given, and what was ignored.

    ``wider``: the projects that an outer source put in reach where a nearer one names a single project; that
    project alone is in reach then.
    """

    settings: Settings
    given: Mapping[str, SourcedValue]
    ignored: tuple[IgnoredValue, ...] = ()
    wider: tuple[str, ...] = ()

    def source_of(self, name: str) -> str:
        """Where a setting comes from: its flag, its variable, the path of a file, or "default"."""
        return self.given[name].place if name in self.given else "default"

    def ignored_lines(self) -> list[str]:
        """What was ignored and what to do about it, a line for each file or variable."""
        places = dict.fromkeys((one.place, one.why) for one in self.ignored)
        return [self._ignored_line(place, why) for place, why in places]

    def _ignored_line(self, place: str, why: str) -> str:
        found = {one.name for one in self.ignored if (one.place, one.why) == (place, why)} - {""}
        names = sorted(found & SETTERS.keys()) + (["unknown settings"] if found - SETTERS.keys() else [])
        what = f"{', '.join(names)} ignored" if names else "ignored"
        advice = f"put settings of your own into {user_file()}, or name a file in WINNOW_CONFIG"
        return one_line(f"{place}: {what}: {why}; {advice}")


def load(flags: Mapping[str, Any] = _NO_FLAGS) -> Configuration:
    """The configuration with these flags (None: not given).

    A value in the working folder's file that is wrong, or that such a file may not set, is ignored and listed: a
    folder may be somebody else's. Any other wrong value is an error.

    Raises:
        WinnowError: INVALID_REQUEST naming each setting that is wrong, and where it was set.
    """
    read, unreadable = sources(Settings.model_fields, flags, _ALSO)
    given, forbidden = _allowed(read)
    given, wider = _narrow(given)
    settings, refused = _validate(given)
    _check_keys(settings, given, read)
    given = {name: one for name, one in given.items() if one not in refused}
    left_out = [IgnoredValue(one.name, one.place, why) for one, why in refused.items()]
    return Configuration(settings, given, (*unreadable, *forbidden, *left_out), wider)


def _allowed(read: Sequence[Source]) -> tuple[dict[str, SourcedValue], list[IgnoredValue]]:
    """Every value by the nearest source that gives it, and what sources gave that they may not."""
    given: dict[str, SourcedValue] = {}
    ignored: list[IgnoredValue] = []
    for one in (one for source in read for one in source):
        setter = SETTERS.get(one.name, Setter.USER)
        if one.rank > setter.value:
            ignored.append(IgnoredValue(one.name, one.place, _MAY_NOT[one.rank]))
        else:
            given.setdefault(one.name, one)
    return given, ignored


def _validate(given: Mapping[str, SourcedValue]) -> tuple[Settings, dict[SourcedValue, str]]:
    """The settings, and the wrong values of the working folder's file, each with what is wrong."""
    try:
        return Settings.model_validate({name: one.value for name, one in given.items()}), {}
    except ValidationError as error:
        wrong = {str(item["loc"][0]): _lower(item["msg"]) for item in error.errors(include_url=False)}
    refused = {given[name]: why for name, why in wrong.items() if given[name].rank is SourceRank.FOLDER_FILE}
    if not refused:
        complaints = "; ".join(f"{name}: {why} (from {given[name].place})" for name, why in wrong.items())
        raise WinnowError("INVALID_REQUEST", f"settings: {complaints}")
    settings, more = _validate({name: one for name, one in given.items() if one not in refused})
    return settings, refused | more


def _narrow(given: dict[str, SourcedValue]) -> tuple[dict[str, SourcedValue], tuple[str, ...]]:
    """Without ``projects`` where a nearer source names one ``project``: naming one never widens its reach."""
    one, several = given.get("project"), given.get("projects")
    if one is None or several is None or one.rank >= several.rank:
        return given, ()
    return {name: each for name, each in given.items() if name != "projects"}, tuple(_split(several.value))


def _check_keys(settings: Settings, given: Mapping[str, SourcedValue], read: Sequence[Source]) -> None:
    """Raises ``WinnowError`` where a key would go to another server than the one that it was given with."""
    for name, address_name in KEYS.items():
        key, address = given.get(name), getattr(settings, address_name)
        if key is None or address is None or not address.is_remote:
            continue
        beside = (one for source in read if key in source for one in source if one.name == address_name)
        for one in beside:
            if to_address(one.value).server != address.server:
                raise WinnowError(
                    "INVALID_REQUEST",
                    f"settings: {name} (from {key.place}) was given with {to_address(one.value)}, and is not sent "
                    f"to {address} (from {given[address_name].place}); give its key in the same place",
                )


def _lower(message: str) -> str:
    message = message.removeprefix("Value error, ")
    return f"{message[:1].lower()}{message[1:]}"
