"""Shared parts of the subcommands of ``winnow project``: the open catalogue, a project's figures, their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.server.commands.terminal.output import print_json, print_lines
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.models import ProjectInfo

ProjectArgument = Annotated[str, typer.Argument(metavar="NAME", help="a project")]


@dataclass(frozen=True, slots=True)
class OpenCatalogue:
    """The catalogue of an existing store, closed at the end of a ``with``."""

    settings: Settings
    catalogue: Catalogue

    def __enter__(self) -> OpenCatalogue:
        return self

    def __exit__(self, *error: object) -> None:
        self.catalogue.close()


def open_catalogue(store: str | None) -> OpenCatalogue:
    """Open the catalogue of an existing store. Raises ``WinnowError`` as ``require_index`` does."""
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path
    from winnow.server.commands.terminal.stores import require_index

    settings = load_settings(store=store)
    require_index(settings.store)
    return OpenCatalogue(settings, Catalogue(catalogue_path(settings)))


def find_project(catalogue: Catalogue, name: str) -> ProjectInfo:
    """The project of this name. Raises ``WinnowError("INVALID_PROJECT")`` with what to do, or the names of all."""
    from winnow.server.projects.removal import require_project

    require_project(catalogue, name, can_create=True)
    return next(info for info in catalogue.existing_projects() if info.name == name)


def collect_figures(settings: Settings, catalogue: Catalogue, name: str) -> dict[str, Any]:
    """All that is known of a project, as JSON data."""
    from winnow.server.jobs.watching.sources import read_sources

    info = find_project(catalogue, name)
    why, watched = "", list[dict[str, Any]]()
    try:
        sources = read_sources(settings.store)
        watched = [{"id": one.id, "paths": list(one.paths)} for one in sources if one.project == name]
    except WinnowError as error:
        why = error.message
    return {
        "store": str(settings.store),
        **facts_of(info),
        "settings": catalogue.project_settings(name).model_dump(mode="json"),
        "sources": watched,
        "sources_unknown": why,
        "ingested_from": catalogue.sources(name),
        "is_complete": not catalogue.has_unfinished_write(name),
    }


def facts_of(info: ProjectInfo) -> dict[str, Any]:
    """The facts of a project as JSON data."""
    facts = asdict(info)
    return {
        "name": facts.pop("name"),
        "documents": facts.pop("documents"),
        "passages": facts.pop("chunks"),
        **facts,
    }


def format_change(row: Mapping[str, Any]) -> str:
    """The generation and the time of the last change in words."""
    when = f", changed {row['changed']}" if row["changed"] else ""
    return f"generation {row['generation']}{when}"


def format_value(value: Any) -> str:
    """The value of a setting in words."""
    if isinstance(value, dict):
        return " ".join(f"{name}={text}" for name, text in value.items() if text) or "none"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) or "of the store"


def print_project(figures: Mapping[str, Any], *, as_json: bool, first: str = "") -> None:
    """Print the figures of a project; ``first``: a line before them."""
    if as_json:
        print_json(figures)
        return
    lines = [f"{figures['name']}: {first}"] if first else []
    lines.append(
        f"{figures['name']}: {count_of(figures['documents'], 'document')}, "
        f"{count_of(figures['passages'], 'passage')}, "
        f"{format_change(figures)}"
    )
    lines += [f"  {name}: {format_value(value)}" for name, value in figures["settings"].items()]
    lines.append(
        f"  vectors of: {figures['embedding'] or ('no single model' if figures['documents'] else 'none yet')}"
    )
    lines += [f"  watched: {path} (source {one['id']})" for one in figures["sources"] for path in one["paths"]]
    if figures["sources_unknown"]:
        lines.append(f"  watched: unknown: {figures['sources_unknown']}")
    lines += [f"  ingested from: {path}" for path in figures["ingested_from"]]
    if not figures["is_complete"]:
        lines.append("  an ingest was interrupted; run it again to complete it")
    print_lines(*lines)
