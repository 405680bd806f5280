"""``winnow graph``: show, count, rebuild, export and import the knowledge graph."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from winnow.server.bibliographies.locators import passage_fields
from winnow.server.commands.terminal.operation import unknown_project
from winnow.server.commands.terminal.output import (
    Json,
    ProjectOption,
    StoreOption,
    command,
    complete,
    examples,
    print_json,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:
    from rich.tree import Tree

    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.commands.graph.portrait import NeighbourRow, Portrait, RelationGroup
    from winnow.server.retrieval.graph.base import GraphStore, Scope

app = command(
    no_args_is_help=True,
    help="Look at the knowledge graph, draw it again, move it elsewhere.",
    epilog=examples(
        'winnow graph show "ConfigMap"',
        'winnow graph show "ConfigMap" --html configmap.html',
        "winnow graph stats --json",
        "winnow graph export graph.jsonl",
        "winnow graph rebuild",
    ),
)

_BATCH = 200  # documents in one write
_PIPED_COLUMNS = 160  # the width of output that is not a terminal


@dataclass(frozen=True, slots=True)
class _OpenGraph:
    """The graph of a project and the catalogue that it follows."""

    settings: Settings
    catalogue: Catalogue
    graph: GraphStore

    @property
    def project(self) -> str:
        return self.settings.project


@app.command(
    epilog=examples('winnow graph show "ConfigMap"', 'winnow graph show "ConfigMap" --hops 2 --svg map.svg')
)
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="what to look at: a name, a title or an id")],
    hops: Annotated[int, typer.Option("--hops", min=1, max=2, help="how far to look, 1 or 2")] = 1,
    rows: Annotated[int, typer.Option("--rows", min=1, max=50, help="how many of each kind of relation")] = 6,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="draw it to this file", show_default=False)
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="the drawing and its words as one page", show_default=False),
    ] = None,
    store: StoreOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
) -> None:
    """Show a node with its neighbours: the strongest of each type of relation."""
    with report_errors(as_json=as_json), _open_graph(store, project) as opened:
        from winnow.server.backends.opening import cache_scopes
        from winnow.server.commands.graph.drawing import render_page, render_svg
        from winnow.server.commands.graph.portrait import PortraitQuery, build_portrait

        scope = cache_scopes(opened.catalogue)(_filters_of(opened.settings))
        query = PortraitQuery(opened.graph, opened.project, scope, rows, _locator_of(opened, scope))
        portrait = build_portrait(query, name, hops)
        for path, draw in ((svg, render_svg), (html, render_page)):
            if path is not None:
                _write_drawing(path, draw(portrait))
    if as_json:
        print_json(asdict(portrait))
    elif svg is None and html is None:
        _print_tree(_build_tree(portrait))


@app.command(epilog=examples("winnow graph stats", "winnow graph stats --project notes --json"))
def stats(store: StoreOption = None, project: ProjectOption = None, as_json: Json = False) -> None:
    """Count nodes, entities and edges by type."""
    with report_errors(as_json=as_json), _open_graph(store, project) as opened:
        counts = opened.graph.counts(opened.project)
        figures = {
            "project": opened.project,
            "documents": (documents := len(opened.graph.documents(opened.project))),
            "generation": opened.graph.generation(opened.project),
            "nodes": dict(counts.labels),
            "entities": dict(counts.entity_types),
            "edges": dict(counts.edge_types),
        }
    if as_json:
        print_json(figures)
        return
    from winnow.server.commands.ingest.report import format_graph_counts

    print_lines(
        f"{figures['project']}: the graph of {count_of(documents, 'document')}",
        *format_graph_counts(counts.labels, counts.entity_types, counts.edge_types),
    )


@app.command(
    epilog=examples(
        "winnow graph export graph.jsonl",
        "winnow graph export folder --format csv",
        "neo4j-admin database import full --nodes=folder/nodes.csv --relationships=folder/relationships.csv",
    )
)
def export(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="a file for JSON lines, a folder for CSV")],
    format: Annotated[
        Literal["jsonl", "csv"],
        typer.Option("--format", help="jsonl: all that is known; csv: as neo4j-admin reads it"),
    ] = "jsonl",
    store: StoreOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
) -> None:
    """Write the graph to files."""
    with report_errors(as_json=as_json), _open_graph(store, project) as opened:
        from winnow.server.retrieval.graph.import_export import write_graphs

        try:
            written = write_graphs(path, opened.graph.export(opened.project), format)
        except OSError as error:
            raise WinnowError("INVALID_REQUEST", f"{path} cannot be written: {error.strerror}") from None
    _print_figures({"path": str(path), "format": format, **asdict(written)}, "written to", as_json=as_json)


@app.command(
    "import",
    epilog=examples(
        "winnow graph import graph.jsonl",
        "WINNOW_NEO4J_URL=bolt://127.0.0.1:7687 winnow graph import folder --project notes",
    ),
)
def import_(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="what winnow graph export wrote")],
    store: StoreOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
) -> None:
    """Replace the project's graph by one from files."""
    with report_errors(as_json=as_json), _open_graph(store, project, is_new=True) as opened:
        from winnow.server.retrieval.graph.import_export import read_graphs

        with opened.catalogue.only_writer():
            figures = _replace_graph(opened, list(read_graphs(path)))
    _print_figures({"path": str(path), **figures}, "read from", as_json=as_json)


@app.command(epilog=examples("winnow graph rebuild", "winnow graph rebuild --project notes --json"))
def rebuild(store: StoreOption = None, project: ProjectOption = None, as_json: Json = False) -> None:
    """Build the graph of every document again from the catalogue; no file is read, nothing is embedded."""
    with report_errors(as_json=as_json), _open_graph(store, project) as opened:
        from winnow.server.commands.ingest.report import format_graph_report
        from winnow.server.ingest.graph_update import GraphUpdate
        from winnow.server.jobs.target import graph_target_of

        run = GraphUpdate(opened.project, opened.catalogue, graph_target_of(opened.settings, opened.graph))
        with opened.catalogue.only_writer():
            run.reset()
            report = run.update()
        if report is None:
            raise WinnowError("INVALID_PROJECT", f"project {opened.project!r} has no documents to draw")
    if as_json:
        print_json({"project": opened.project, **asdict(report), "seconds": round(report.seconds, 3)})
        return
    print_lines(*format_graph_report(report), *map(complete, report.warnings))


@contextmanager
def _open_graph(store: str | None, project: str | None, *, is_new: bool = False) -> Iterator[_OpenGraph]:
    """The open graph of a store; servers may be running. ``is_new``: the store need not exist yet."""
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path, open_graph
    from winnow.server.commands.terminal.stores import require_index
    from winnow.server.storage.project_states import check_state

    settings = load_settings(store=store, project=project)
    if not is_new:
        require_index(settings.store)
    graph = open_graph(settings)
    if graph is None:
        raise WinnowError("GRAPH_UNAVAILABLE", "the graph is switched off (setting graph); set it to auto")
    catalogue = Catalogue(catalogue_path(settings))
    try:
        check_state(settings.project, catalogue.project_state(settings.project))
        names = [info.name for info in catalogue.projects()]
        if not is_new and names and settings.project not in names and not graph.documents(settings.project):
            raise unknown_project(settings, names)
        yield _OpenGraph(settings, catalogue, graph)
    finally:
        catalogue.close()
        graph.close()


def _filters_of(settings: Settings) -> Any:
    from winnow.server.models import Filters

    return Filters(
        settings.project,
        doc_tags=settings.doc_tags,
        environment=settings.environment,
        repositories=settings.repositories,
    )


def _locator_of(opened: _OpenGraph, scope: Scope) -> Callable[[Sequence[str]], Mapping[str, tuple[str, str]]]:
    """A function from the ids of passages to their files and places, for those in scope that have a place."""

    def locate(chunk_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        cited = sorted(opened.catalogue.cited_chunks(chunk_ids))
        passages = opened.catalogue.passages(cited, opened.project)
        return {
            id: (passage.document.uri, fields["locator"])
            for id, passage in passages.items()
            if (scope is None or passage.document.id in scope) and "locator" in (fields := passage_fields(passage))
        }

    return locate


def _replace_graph(opened: _OpenGraph, graphs: list[Any]) -> dict[str, int]:
    """Replace the project's graph if all ``graphs`` are valid; returns the new counts."""
    from winnow.server.retrieval.graph.records import validate_graph

    for graph in graphs:
        validate_graph(graph)
    gone = opened.graph.documents(opened.project) - {graph.document_id for graph in graphs}
    opened.graph.apply(opened.project, deleted=sorted(gone))
    for start in range(0, len(graphs), _BATCH):
        opened.graph.apply(opened.project, graphs[start : start + _BATCH])
    opened.graph.derive(opened.project)
    counts = opened.graph.counts(opened.project)
    return {
        "documents": len(graphs),
        "nodes": sum(counts.labels.values()),
        "edges": sum(counts.edge_types.values()),
    }


# --- text output -------------------------------------------------------------------------------------------


def _print_figures(figures: dict[str, Any], how: str, *, as_json: bool) -> None:
    if as_json:
        print_json(figures)
        return
    print_lines(
        f"{count_of(figures['documents'], 'document')}, "
        f"{count_of(figures['nodes'], 'node')}, {count_of(figures['edges'], 'edge')} "
        f"{how} {figures['path']}"
    )


def _write_drawing(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WinnowError("INVALID_REQUEST", f"{path} cannot be written: {error.strerror}") from None
    print_to_stderr(f"drawn to {path}")


def _print_tree(tree: Tree) -> None:
    from winnow.server.commands.terminal.screen import Screen

    width = None if sys.stdout.isatty() else _PIPED_COLUMNS
    Screen(highlight=False, emoji=False, width=width).print(tree)


def _build_tree(portrait: Portrait) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text.assemble((one_line(portrait.node.title), "bold"), f" ({portrait.node.type})"))
    for group in portrait.groups:
        _add_group(tree, group)
    if portrait.others:
        others = ", ".join(f"{one_line(node.title)} ({node.type})" for node in portrait.others)
        tree.add(Text(f"the name also finds: {others}", style="dim"))
    return tree


def _add_group(tree: Tree, group: RelationGroup) -> None:
    from rich.text import Text

    branch = tree.add(Text.assemble((group.phrase, "italic"), f" ({group.total:,})"))
    for row in group.rows:
        leaf = branch.add(Text(_format_row(row, group)))
        for inner in row.groups:
            _add_group(leaf, inner)
    if group.total > len(group.rows):
        branch.add(Text(f"… and {group.total - len(group.rows):,} more", style="dim"))


def _format_row(row: NeighbourRow, group: RelationGroup) -> str:
    facts = [row.node.type if row.node.label == "Entity" else row.node.label.lower()]
    facts += [row.where] if row.where else []
    facts += row.locators
    if group.type == "MENTIONS" and row.passages > 1:
        facts.append(count_of(row.passages, "passage"))
    if group.type == "CO_OCCURS":
        facts.append(f"{row.weight:.1f} bits")
    return f"{one_line(row.node.title)}  [{', '.join(map(one_line, facts))}]"
