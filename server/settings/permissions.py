"""All settings by topic, and who may set each. Help, docs and ``winnow config`` use this order."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from winnow.server.settings.sources import SourceRank


class Setter(Enum):
    """The sources that may set a setting: the value is the farthest source that is accepted."""

    OPERATOR = SourceRank.OPERATOR_FILE
    """The operator, who starts the process: by flag, variable, or the file named by ``WINNOW_CONFIG``."""
    USER = SourceRank.USER_FILE
    """The operator, and the user's own configuration file."""
    FOLDER = SourceRank.FOLDER_FILE
    """Also the ``winnow.toml`` of the working folder: only what is harmless if somebody else wrote that file."""


_OPERATOR, _USER, _FOLDER = Setter.OPERATOR, Setter.USER, Setter.FOLDER

# Topic -> setting -> who may set it. A working folder's file may not set anything that sends text or keys
# elsewhere, widens the scope, loads code, raises a limit or hides what happened.
TOPICS: Mapping[str, Mapping[str, Setter]] = MappingProxyType(
    {
        "Store and scope": {
            "store": _USER,
            "models": _USER,
            "project": _USER,
            "projects": _USER,
            "doc_tags": _FOLDER,
            "environment": _FOLDER,
            "repositories": _FOLDER,
        },
        "Models and ranking": {
            "embedding": _USER,
            "embedder": _USER,
            "embedder_key": _USER,
            "fusion": _FOLDER,
            "boost_vendor": _FOLDER,
            "boost_types": _FOLDER,
            "boost_recency": _FOLDER,
            "boost_recency_days": _FOLDER,
            "boost_entity": _FOLDER,
            "boost_topic": _FOLDER,
            "reranker": _USER,
            "rerank_top": _FOLDER,
            "mmr": _FOLDER,
            "evidence": _FOLDER,
        },
        # Only at the start of a process, so that a forgotten file cannot remove a wall.
        "Files to read": {"allow_weaker_reader": _OPERATOR},
        # Only at the start of a process, so that no file and no agent can widen what agents may write.
        "Writes by agents": {"enable_writes": _OPERATOR, "ingest_roots": _OPERATOR, "review_claims": _OPERATOR},
        # Where claims go, and with which key: never for the file of a working folder to say.
        "Notebooks": {"nli_model": _USER, "notebook_url": _USER, "notebook_token": _USER},
        "Index and graph": {
            "index_memory_mb": _USER,
            "qdrant_url": _USER,
            "qdrant_api_key": _USER,
            "qdrant_shards": _USER,
            "qdrant_replicas": _USER,
            "qdrant_on_disk": _USER,
            "graph": _USER,
            "neo4j_url": _USER,
            "neo4j_user": _USER,
            "neo4j_password": _USER,
            "entities": _USER,
        },
        "Processes": {
            "daemon": _USER,
            "engine_idle_minutes": _USER,
            "drain_seconds": _USER,
            "watch": _USER,
            "watch_scan_minutes": _USER,
            "watch_poll_seconds": _USER,
        },
        "Tools and answers": {
            "default_response_mode": _FOLDER,
            "content": _FOLDER,
            "structured_output_enabled": _USER,
            "resource_links": _FOLDER,
            "tools": _FOLDER,
            "tool_names": _FOLDER,
            "kb_v2_enabled": _USER,
            "legacy_tools": _USER,
            "scratch_mb": _USER,
            "scratch_minutes": _USER,
        },
        "Scripts": {
            "execute_code": _USER,
            "sandbox": _USER,
            # Only at the start of the server, so that a forgotten file cannot remove a wall.
            "allow_weaker_sandbox": _OPERATOR,
            "skills": _USER,
            "prompt_packs": _USER,
            "tool_packs": _USER,
            "limits": _FOLDER,
            "script_calls": _USER,
            "script_text_mb": _USER,
            "script_rows": _USER,
            "script_previews": _USER,
            "script_documents": _USER,
            "result_kb": _USER,
            "result_tokens": _USER,
            "wall_seconds": _USER,
            "memory_mb": _USER,
            "workers": _USER,
            "queue": _USER,
            "queue_seconds": _USER,
        },
        "Limits on callers": {
            "calls_per_minute": _USER,
            "scripts_per_minute": _USER,
            "reads_per_minute": _USER,
            "harvest": _USER,
            "harvest_passages": _USER,
            "harvest_minutes": _USER,
        },
        "Audit and logs": {
            "audit": _USER,
            "audit_mb": _USER,
            "audit_days": _USER,
            "log_queries": _USER,
            "otlp_url": _USER,
            "log_file": _USER,
            "log_mb": _USER,
            "log_files": _USER,
        },
    }
)
SETTERS: Mapping[str, Setter] = MappingProxyType(
    {name: setter for settings in TOPICS.values() for name, setter in settings.items()}
)
# Setting of a key -> setting of the address that the key is for.
KEYS: Mapping[str, str] = MappingProxyType(
    {
        "embedder_key": "embedder",
        "qdrant_api_key": "qdrant_url",
        "neo4j_password": "neo4j_url",
        "notebook_token": "notebook_url",
    }
)
