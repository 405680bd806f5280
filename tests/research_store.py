"""Two projects of papers with citation facts, pages and sections, with a small embedding model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.tiny_models import write_model
from winnow.server.backends.opening import Backends, open_backends
from winnow.server.ingest.pipeline import ingest_documents
from winnow.server.jobs.target import target_of
from winnow.server.models import Place
from winnow.server.readers.documents import RawDocument
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

MINE, THEIRS, HIDDEN = "citeloom/clean-arch", "citeloom/other", "private"
_FILLER = "It was inspected in spring, cleaned in summer and painted in autumn by the crew of the yard. " * 9
PAPER = f"""\
# Part I

The proxy stands before the gateway. {_FILLER}

## Chapter 3

### Entities and Value Objects

Entities and value objects are distinct: the proxy knows the policy of the gateway. {_FILLER}

# Part II

The backup policy of the gateway: marker zebra. {_FILLER}
"""
FACTS: Mapping[str, Any] = {
    "citekey": "cleanArchitecture2023",
    "doi": "10.1000/xyz123",
    "year": 2023,
    "authors": ["Martin, Robert", "Doe, Jane"],
}


def papers(secret: str) -> list[RawDocument]:
    """A paper with pages and all citation facts, one without any, and a long one. ``secret``: a word of theirs."""
    second = PAPER.index("# Part II")
    return [
        RawDocument(
            "clean.pdf",
            "pdf",
            "Clean Architecture",
            PAPER,
            tags=("architecture", "design"),
            metadata={**FACTS, "citekey": f"{secret}2023"},
            places=(Place(0, "page", 45, "33"), Place(second, "page", 46, "34")),
        ),
        RawDocument("plain.md", "markdown", "Plain", f"gateway and backup {secret}", tags=("design",)),
        RawDocument("long.md", "markdown", "Long", "proxy policy " * 240, environment="dev"),
    ]


def research_settings(folder: Path, **changed: Any) -> Settings:
    """Settings of a server that searches two of the three projects."""
    model = folder / "model"
    fixed: dict[str, Any] = {
        "store": folder / "store",
        "project": MINE,
        "projects": (MINE, THEIRS, "not/made"),
        "tools": "research",
        "embedder": f"onnx:{model if model.exists() else write_model(model)}",
        "execute_code": "off",
        "daemon": "off",
        "graph": "off",
    }
    return load_settings(**fixed | changed)


@contextmanager
def research_backends(settings: Settings) -> Iterator[Backends]:
    """The open backends of a store with papers in three projects."""
    backends = open_backends(settings, wait_for_model=True)
    try:
        for project, secret in ((MINE, "mine"), (THEIRS, "theirs"), (HIDDEN, "hidden")):
            target = target_of(
                settings.model_copy(update={"project": project}), backends, backends.embedder.wait()
            )
            report = ingest_documents(target, "made", papers(secret))
            assert report.failures == ()
        yield backends
    finally:
        backends.close()
