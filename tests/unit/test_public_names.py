"""The public names. Changing one requires a visible change of this file."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping

import pytest

import winnow
from winnow.sandbox.child import monty_sdk
from winnow.sandbox.child.language.allow_list import ALLOWED
from winnow.server.tools.reference.sdk_source import MODULES

PUBLIC: Mapping[str, list[str]] = {
    "winnow.client_sdk": [
        "ClaimNotebook",
        "KnowledgeBase",
        "KnowledgeGraph",
        "MCPClient",
        "MissingField",
        "Results",
        "Row",
        "SDKError",
        "budget",
        "cite",
        "claims",
        "code_blocks",
        "count",
        "dedupe",
        "documents",
        "fetch",
        "fields",
        "filter_by_domain",
        "filter_by_score",
        "filter_rows",
        "find_vendor_info",
        "format_for_agent",
        "graph",
        "grep",
        "group_by",
        "hybrid_search",
        "kb",
        "links",
        "load",
        "page",
        "progress",
        "quotes",
        "read",
        "read_result",
        "repeats",
        "rerank",
        "row",
        "save",
        "saved",
        "scan",
        "search_many",
        "sections",
        "semantic_search",
        "summarize",
        "tables",
        "text",
        "texts",
        "tokens",
    ],
    "winnow.sandbox": [
        "CallError",
        "CountTokens",
        "HostCall",
        "Layers",
        "Limits",
        "Outcome",
        "Reply",
        "Sandbox",
        "SandboxUnavailable",
        "ScriptError",
        "Status",
        "Usage",
        "WallReport",
        "Walls",
        "looks_possible",
        "probe",
    ],
    "winnow": ["OpenStore", "WinnowError", "__version__", "open_store"],
    "winnow.server.commands.entry.python_api": ["OpenStore", "WinnowError", "open_store"],
    "winnow.server.contracts": [
        "Arguments",
        "DescribeAnswer",
        "EntitiesForSections",
        "ErrorEnvelope",
        "EvidenceAnswer",
        "ExcerptAnswer",
        "ExcerptOptions",
        "ExecuteCode",
        "ExpandExcerpt",
        "ExtractEvidence",
        "Fetch",
        "FindVendorInfo",
        "GetSectionText",
        "GraphChildren",
        "GraphDescribe",
        "GraphExpand",
        "GraphParents",
        "GraphPaths",
        "KbSearch",
        "KbSearchAnswer",
        "Limit",
        "MAX_TOP_K",
        "Meta",
        "Mode",
        "OutcomeAnswer",
        "PREVIEW_CHARS",
        "PathsAnswer",
        "Payload",
        "ReachedAnswer",
        "ReadExcerpt",
        "RetrieveEvidence",
        "RetrievedEvidence",
        "Scope",
        "SearchAnswer",
        "SearchFilters",
        "SearchSections",
        "SectionTextsAnswer",
        "SectionsAnswer",
        "SectionsForEntities",
        "SemanticSearch",
        "VendorAnswer",
        "answer_schema",
        "empty_answer",
        "flat_schema",
        "parse",
        "wire_schema",
    ],
    "winnow.server.ingest.pipeline": [
        "GraphReport",
        "GraphTarget",
        "IngestFailure",
        "IngestReport",
        "Progress",
        "RawDocument",
        "Target",
        "ingest_documents",
        "ingest_files",
        "ingest_parts",
    ],
    "winnow.server.operations.knowledge": [
        "Answer",
        "Caller",
        "DIRECT",
        "Knowledge",
        "KnowledgeBase",
        "OPERATIONS",
        "SCRIPT",
        "Store",
    ],
    "winnow.server.tools.table": [
        "EARLIER_NAMES",
        "TAKEN_NAMES",
        "TOOLS",
        "WITHOUT_KB",
        "Context",
        "Tool",
        "ToolResult",
    ],
}


def _modules() -> Iterator[str]:
    yield winnow.__name__
    for found in pkgutil.walk_packages(winnow.__path__, f"{winnow.__name__}."):
        if not found.name.startswith("winnow.security.attacks"):
            yield found.name


@pytest.mark.parametrize("name", PUBLIC)
def test_a_package_exposes_exactly_its_public_names(name: str) -> None:
    """Each package exports exactly the names in the table above."""
    module = importlib.import_module(name)
    assert sorted(module.__all__) == sorted(PUBLIC[name])
    assert [each for each in module.__all__ if not hasattr(module, each)] == []


def test_no_other_module_promises_names() -> None:
    """A new `__all__` is a new promise: it belongs in the table above. `client_sdk` takes the generated ones."""
    generated = {f"winnow.client_sdk.{name}" for name, (_, owner) in MODULES.items() if not owner}
    promising = {name for name in _modules() if _has_all(name)}
    assert promising - generated == set(PUBLIC)


def test_scripts_have_the_public_names_of_the_sdk_but_for_the_classes_of_its_objects() -> None:
    """The allow-list follows from the SDK: a new public name is one that every script has."""
    offered = {*PUBLIC["winnow.client_sdk"]} - {"ClaimNotebook", "KnowledgeBase", "KnowledgeGraph"}
    assert ALLOWED["winnow"] == ALLOWED["client_sdk"] == offered
    classes = {"MCPClient", "MissingField", "Results", "Row", "SDKError"}
    assert sorted(monty_sdk.NAMES) == sorted(offered - classes)


def _has_all(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    source = spec.loader.get_source(name) if spec and spec.loader else ""  # type: ignore[attr-defined]
    return re.search("^__all__ = ", source or "", re.MULTILINE) is not None


def test_every_public_name_is_documented() -> None:
    """Every class and function in the tables above has a docstring."""
    silent = []
    for name in ("winnow", "winnow.client_sdk", "winnow.sandbox"):
        module = importlib.import_module(name)
        values = {each: getattr(module, each) for each in PUBLIC[name]}
        explained = [each for each, value in values.items() if inspect.isclass(value) or inspect.isfunction(value)]
        silent += [f"{name}.{each}" for each in explained if not values[each].__doc__]
    assert silent == []
