"""All settings, in one frozen model; ``server.settings.loading`` loads them.

Each setting has one name: ``--flag`` on the command line, ``WINNOW_FLAG`` in the environment, ``flag`` in a
``winnow.toml``. The nearest source wins (``server.settings.sources``). ``server.settings.permissions``
defines which source may set which setting.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from winnow.server.models import DocumentType, Environment
from winnow.server.settings.addresses import Address
from winnow.server.settings.value_types import (
    EmbedderName,
    Factor,
    Folders,
    LabelSetting,
    MissingWalls,
    Names,
    NotebookAddress,
    ProjectName,
    Roots,
    ServerAddress,
    ToolSets,
    split_table,
)

MIB = 1024 * 1024


def _home(variable: str, fallback: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / fallback)


def default_store() -> Path:
    """The default folder of the index, in the platform's data folder."""
    return _home("XDG_DATA_HOME", ".local/share") / "winnow"


def default_models() -> Path:
    """The default folder of converted models, in the platform's cache folder."""
    return _home("XDG_CACHE_HOME", ".cache") / "winnow" / "models"


_TYPES = get_args(DocumentType)
# In the environment a table is written a=1.5,b=0.5.
Factors = Annotated[
    tuple[tuple[DocumentType, Factor], ...], BeforeValidator(split_table), Field(max_length=len(_TYPES))
]


class Settings(BaseModel):
    """All settings. Frozen: a change makes a new object. ``Settings()`` has the default values."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    store: Path = Field(default_factory=default_store, description="folder of the index and the catalogue")
    models: Path = Field(default_factory=default_models, description="folder of converted models")
    project: ProjectName = Field(
        default="default",
        description="project to search; where only `projects` is set, the first of them",
    )
    projects: Names = Field(
        default=(), max_length=1000, description="projects that may be searched; empty: only `project`"
    )
    doc_tags: LabelSetting = Field(
        default=(), max_length=1000, description="search only documents with one of these doc tags; empty: all"
    )
    environment: Environment | Literal[""] = Field(
        default="", description="search only documents of this environment: dev, prod or scratch; empty: all"
    )
    repositories: LabelSetting = Field(
        default=(), max_length=1000, description="search only documents of these repositories; empty: all"
    )
    embedding: Literal["auto", "off"] = Field(
        default="auto", description="off: lexical search only, without an embedding model"
    )
    embedder: EmbedderName = Field(
        default=Address("minilm"),
        description="embedding model: minilm, bge-small, multilingual, fastembed:MODEL, onnx:FOLDER, or "
        "openai:URL#MODEL, an endpoint that receives your texts",
    )
    embedder_key: SecretStr | None = Field(default=None, description="API key of the embedding endpoint")
    fusion: Literal["convex", "rrf"] = Field(
        default="convex", description="how semantic and lexical results are combined"
    )
    boost_vendor: Factor = Field(
        default=1.0, description="factor for documents of a vendor that the query mentions"
    )
    boost_types: Factors = Field(default=(), description="factors by document type: code=0.8,markdown=1.2")
    boost_recency: Factor = Field(
        default=1.0, description="factor for a document of today; its effect halves with age"
    )
    boost_recency_days: float = Field(
        default=365.0, ge=1, le=36_500, description="age in days at which that effect is half"
    )
    boost_entity: Factor = Field(
        default=1.0, description="factor for documents whose title or heading the query mentions"
    )
    boost_topic: Factor = Field(default=1.0, description="factor for documents with a tag that the query mentions")
    reranker: Path | None = Field(
        default=None,
        description="folder of a cross-encoder (model.onnx, tokenizer.json) that reranks the best results",
    )
    rerank_top: int = Field(default=24, ge=1, le=100, description="how many results the cross-encoder reranks")
    mmr: float = Field(
        default=1.0,
        ge=0,
        le=1,
        description="diversity: below 1, results that resemble earlier ones move down; 0 is the strongest",
    )
    index_memory_mb: int = Field(
        default=4096,
        ge=256,
        le=1024 * 1024,
        description="memory for writing the embedded index; less memory means smaller parts, built more often",
    )
    qdrant_url: ServerAddress | None = Field(
        default=None, description="Qdrant server to use instead of the embedded index"
    )
    qdrant_api_key: SecretStr | None = Field(default=None, description="API key of the Qdrant server")
    qdrant_shards: int = Field(
        default=1, ge=1, le=256, description="shards of a new collection on the Qdrant server"
    )
    qdrant_replicas: int = Field(
        default=1, ge=1, le=32, description="replicas of each shard of a new collection on the Qdrant server"
    )
    qdrant_on_disk: bool = Field(
        default=True,
        description="keep the full vectors of a new collection on the Qdrant server's disk; off: in its memory",
    )
    graph: Literal["auto", "off"] = Field(
        default="auto", description="auto: ingests build a knowledge graph and searches use it; off: no graph"
    )
    neo4j_url: ServerAddress | None = Field(
        default=None, description="Neo4j server (bolt:// or neo4j://) to use instead of the embedded graph"
    )
    neo4j_user: str = Field(default="neo4j", description="user of the Neo4j server")
    neo4j_password: SecretStr | None = Field(default=None, description="password of the Neo4j user")
    entities: Path | None = Field(
        default=None, description="file with your own entity names, aliases and patterns (entities.toml)"
    )
    allow_weaker_reader: bool = Field(
        default=False,
        description="read PDF, office files, books and mail where no tier of walls stands around readers, in "
        "a process that limits only its memory and time",
    )
    enable_writes: bool = Field(
        default=False,
        description="list tools of packs that write: ingest_from_source, job_cancel, wild_write and wild_revise",
    )
    nli_model: Path | None = Field(
        default=None,
        description="folder of a model (model.onnx, tokenizer.json, config.json) that finds contradicting claims",
    )
    notebook_url: NotebookAddress | None = Field(
        default=None,
        description="server that keeps the notebooks of claims, in place of this store: https://, or http:// on "
        "this machine",
    )
    notebook_token: SecretStr | None = Field(default=None, description="access key of that server")
    review_claims: bool = Field(
        default=False,
        description="claims that agents write are seen by their session alone, until winnow claims approve",
    )
    ingest_roots: Roots = Field(
        default=(),
        max_length=100,
        description="folders that agents may have ingested, with all that is below them, and the word zotero for "
        "libraries of Zotero; empty: none",
    )
    daemon: Literal["on", "off"] = Field(
        default="on",
        description="on: share one engine process with the other servers of the store, where the system allows "
        "it; off: this process works alone and locks the store",
    )
    engine_idle_minutes: float = Field(
        default=5.0, ge=0.001, le=1440, description="how long an engine runs after its last client has left"
    )
    watch: Literal["on", "off"] = Field(
        default="off",
        description="on: while the server runs, the sources of the store are watched and changes indexed "
        "(winnow sources add PATH)",
    )
    watch_scan_minutes: float = Field(
        default=10.0, ge=0.01, le=1440, description="time between two scans of everything in a watched source"
    )
    watch_poll_seconds: float = Field(
        default=10.0,
        ge=0.1,
        le=3600,
        description="time between two listings of a watched source whose file system does not report changes",
    )

    default_response_mode: Literal["ids_only", "metadata", "preview", "full"] = Field(
        default="metadata", description="how much of each result semantic_search shows by default"
    )
    content: Literal["dense", "summary"] = Field(
        default="dense",
        description="text sent beside structured content; dense: the whole answer, summary: its first line",
    )
    structured_output_enabled: bool = Field(
        default=True,
        description="off (rollback): answers are minified JSON text, without structuredContent and outputSchema",
    )
    resource_links: Literal["on", "off"] = Field(
        default="off", description="on: a resource link beside each passage, whose URI rows name as scratch_uri"
    )
    tools: ToolSets = Field(
        default=("all",),
        description="listed tools: all, or code for execute_code, kb_retrieve_evidence and help alone; "
        "research adds tools for projects with sources, core for plans, citations and exports, claims a notebook, "
        "pages the cited page as an image",
    )
    tool_names: Literal["underscore", "dotted"] = Field(
        default="underscore",
        description="spelling of listed tool names: kb_search or kb.search; both can be called",
    )
    kb_v2_enabled: bool = Field(
        default=True, description="off (rollback): list the legacy tools instead of the kb_* tools"
    )
    legacy_tools: bool = Field(
        default=False, description="list search_sections and get_section_text in addition to the kb_* tools"
    )
    evidence: Literal["lexical", "dense"] = Field(
        default="dense",
        description="how quotes are scored; lexical: by words, dense: also by the embedding model",
    )
    scratch_mb: int = Field(default=256, ge=1, le=4096, description="memory for the passages of all sessions")
    scratch_minutes: float = Field(
        default=30.0, ge=0.01, le=1440, description="how long a passage stays readable in its session"
    )
    execute_code: Literal["on", "off"] = Field(
        default="on",
        description="offer execute_code, if every wall of the sandbox stands, or those of an accepted tier",
    )
    sandbox: Literal["auto", "monty"] = Field(
        default="auto",
        description="what runs scripts; auto: CPython behind kernel walls (Linux only), monty: a smaller language",
    )
    allow_weaker_sandbox: MissingWalls = Field(
        default=(),
        description="walls whose absence you accept, exactly the missing ones; or a tier: container, namespaces",
    )

    skills: Folders = Field(
        default=(), max_length=20, description="folders with your own Python functions that scripts may import"
    )
    prompt_packs: Folders = Field(
        default=(), max_length=20, description="folders with your own prompts (winnow prompt check FOLDER)"
    )
    tool_packs: Folders = Field(
        default=(), max_length=20, description="folders with your own tools (winnow pack check FOLDER)"
    )
    limits: Literal["standard", "strict"] = Field(
        default="standard",
        description="how much one script may call, take in and return; strict: about a tenth, and row limits",
    )
    script_calls: int | None = Field(
        default=None, ge=1, le=10_000, description="SDK calls per script; overrides `limits`"
    )
    script_text_mb: int | None = Field(
        default=None, ge=1, le=64, description="passage text that one script may take in; overrides `limits`"
    )
    script_rows: int | None = Field(
        default=None, ge=1, le=100_000, description="ids and metadata rows per script; standard: no limit"
    )
    script_previews: int | None = Field(
        default=None, ge=1, le=10_000, description="previews and quotes per script; standard: no limit"
    )
    script_documents: int | None = Field(
        default=None, ge=1, le=10_000, description="excerpts and whole passages per script; standard: no limit"
    )
    result_kb: int | None = Field(
        default=None, ge=1, le=64, description="size of a script's result; overrides `limits`"
    )
    result_tokens: int | None = Field(
        default=None, ge=100, le=20_000, description="tokens of a script's result; overrides `limits`"
    )
    wall_seconds: float = Field(default=30.0, ge=1, le=60, description="default time limit of a script")
    memory_mb: int = Field(default=512, ge=64, le=4096, description="memory limit of a script")
    workers: int = Field(
        default=max(2, os.cpu_count() or 2), ge=1, le=64, description="scripts that run at the same time"
    )
    queue: int = Field(default=50, ge=0, le=1000, description="scripts that may wait for a worker")
    queue_seconds: float = Field(default=60.0, ge=0, le=600, description="how long a script may wait for a worker")
    calls_per_minute: int = Field(
        default=100, ge=1, le=100_000, description="direct tool calls per caller and minute"
    )
    scripts_per_minute: int = Field(default=30, ge=1, le=100_000, description="scripts per caller and minute")
    reads_per_minute: int = Field(
        default=100,
        ge=1,
        le=100_000,
        description="requests for resources, prompts and completions per caller and minute",
    )
    harvest: Literal["off", "alert", "limit"] = Field(
        default="limit", description="HTTP clients that list much and read little; limit: alert, then refuse"
    )
    harvest_passages: int = Field(
        default=10_000, ge=100, le=1_000_000, description="ids listed for one client that raise that alert"
    )
    harvest_minutes: float = Field(default=60.0, ge=0.01, le=1440, description="time within which they count")
    audit: Literal["on", "off"] = Field(
        default="on", description="write a line to the audit log for each tool call and each script (winnow audit)"
    )
    audit_mb: float = Field(default=16.0, ge=0.01, le=1024, description="size of one file of the audit log")
    audit_days: int = Field(default=90, ge=1, le=3650, description="how long lines of the audit log are kept")
    otlp_url: ServerAddress | None = Field(
        default=None,
        description="OpenTelemetry collector that gets traces over OTLP/HTTP, such as http://localhost:4318",
    )
    log_file: Path | None = Field(
        default=None, description="file for the log of the server in place of stderr; several servers may share it"
    )
    log_mb: float = Field(default=10.0, ge=0.01, le=1024, description="size at which the log file is rotated")
    log_files: int = Field(default=5, ge=1, le=100, description="how many rotated log files are kept")
    drain_seconds: float = Field(
        default=10.0,
        ge=0,
        le=300,
        description="how long calls in progress may take after SIGTERM",
    )
    log_queries: bool = Field(
        default=False, description="log the text of queries and the source of scripts instead of their hashes"
    )

    @property
    def reachable(self) -> tuple[str, ...]:
        """The projects a caller may name."""
        return self.projects or (self.project,)

    @property
    def is_code_only(self) -> bool:
        """Whether the tools of a server for scripts are listed, instead of all."""
        return "code" in self.tools

    @property
    def packs(self) -> frozenset[str]:
        """The packs of tools that are listed beside those of ``all`` or ``code``."""
        return frozenset(self.tools) - {"all", "code"}

    @property
    def audit_folder(self) -> Path:
        """The folder of the audit log."""
        return self.store / "audit"

    @property
    def memory_bytes(self) -> int:
        """`memory_mb` in bytes."""
        return self.memory_mb * MIB
