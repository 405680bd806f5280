"""Which build and settings the clients of one engine must agree on.

A client may set some settings for itself (``OWN_SETTINGS``); all others decide how the shared store is opened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from winnow import SEARCH_PATH, __version__
from winnow.server.backends.models.model_identity import embedder_of, nli_model_of, reranker_of
from winnow.server.settings.settings import Settings


@cache
def build_id() -> str:
    """The version of this code and a digest of all its modules: a changed module is another build."""
    root = Path(SEARCH_PATH, "winnow", "server")
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{__version__}+{digest.hexdigest()}"


# Settings that may differ between the clients of one engine. A setting that is missing here counts as shared, so a
# new one is safe until it has been classified.
OWN_SETTINGS = frozenset(
    (
        *("project", "projects", "doc_tags", "environment", "repositories"),
        *("fusion", "boost_vendor", "boost_types", "boost_recency", "boost_recency_days", "boost_entity"),
        *("boost_topic", "rerank_top", "mmr", "evidence"),
        *("default_response_mode", "content", "structured_output_enabled", "resource_links", "tools"),
        *("tool_names", "kb_v2_enabled", "legacy_tools", "scratch_mb", "scratch_minutes", "log_queries"),
        *("execute_code", "sandbox", "allow_weaker_sandbox", "skills", "prompt_packs", "tool_packs", "limits"),
        "wall_seconds",
        "memory_mb",
        *("script_calls", "script_text_mb", "script_rows", "script_previews", "script_documents"),
        *("result_kb", "result_tokens"),
        *("calls_per_minute", "scripts_per_minute", "reads_per_minute"),
        *("harvest", "harvest_passages", "harvest_minutes"),
        *("workers", "queue", "queue_seconds", "audit", "audit_mb", "audit_days"),
        *("log_file", "log_mb", "log_files"),
        *("daemon", "engine_idle_minutes", "drain_seconds", "watch", "allow_weaker_reader"),
        *("enable_writes", "ingest_roots", "review_claims"),
    )
)
# Not compared: the values of the client that started the engine apply (every client has the same ``store``).
ENGINE_SETTINGS = frozenset(
    (
        *("store", "models", "index_memory_mb", "qdrant_shards", "qdrant_replicas", "qdrant_on_disk"),
        *("watch_scan_minutes", "watch_poll_seconds", "otlp_url"),
    )
)
SECRET_SETTINGS = frozenset({"qdrant_api_key", "neo4j_password", "embedder_key", "notebook_token"})
_FOLDER_OF_MODEL = "onnx:"


def settings_to_json(settings: Settings) -> dict[str, Any]:
    """The settings as JSON data, without secrets and with absolute paths: valid in any working directory."""
    facts = settings.model_dump(mode="json", exclude=set(SECRET_SETTINGS))
    paths = {name: value for name in facts if isinstance(value := getattr(settings, name), Path)}
    facts |= {name: str(path.resolve()) for name, path in paths.items()}
    if settings.embedder.whole.startswith(_FOLDER_OF_MODEL):
        folder = Path(settings.embedder.whole.removeprefix(_FOLDER_OF_MODEL)).expanduser()
        facts["embedder"] = f"{_FOLDER_OF_MODEL}{folder.resolve()}"
    return facts


def describe_settings(settings: Settings) -> dict[str, Any]:
    """The settings that a client sends in its hello; models are described by their identity.

    Two folders with the same model are the same model, and one store may be reached by two paths. May read the
    files of a model, so it must not run in an event loop.
    """
    models = {
        "embedder": embedder_of(settings),
        "reranker": reranker_of(settings),
        "nli_model": nli_model_of(settings),
    }
    return {
        name: value for name, value in settings_to_json(settings).items() if name not in ENGINE_SETTINGS
    } | models


def find_conflicts(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The names of the shared settings that differ."""
    shared = (ours.keys() | theirs.keys()) - OWN_SETTINGS
    return sorted(name for name in shared if ours.get(name) != theirs.get(name))
