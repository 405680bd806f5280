"""The command ``winnow graph``: neighbourhoods as text and as a drawing, export and import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from tests.contract.graph_worlds import PROJECT, graphs
from winnow.server.backends.graphs.sqlite_graph import SqliteGraph
from winnow.server.commands.graph import app
from winnow.server.commands.graph.drawing import render_page, render_svg
from winnow.server.commands.graph.portrait import NeighbourRow, Portrait, RelationGroup
from winnow.server.commands.ingest import app as ingest
from winnow.server.ids import chunk_id
from winnow.server.retrieval.graph.import_export import NODES, read_graphs, write_graphs
from winnow.server.retrieval.graph.records import EDGE_TYPES, LABELS, Node
from winnow.server.retrieval.graph_expansion import walk_from_hits

PAGES = {
    "map.md": "# ConfigMap\n\nA ConfigMap holds data for a [Pod](pod.md#volumes).\n\n## Size\n\nOne MiB.\n",
    "pod.md": "# Pod\n\nA Pod runs. It is a Custom Resource Definition (CRD).\n\n## Volumes\n\nOf a ConfigMap.\n",
    "both.md": "# Both\n\nA ConfigMap and a Pod.\n\n## Again\n\nThe ConfigMap of the Pod.\n",
    "rest.md": "# Rest\n\n" + "\n\n".join(f"## Part {n}\n\nNothing of note, {n} times." for n in range(9)) + "\n",
}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the graph of these pages as project "docs"."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "docs").mkdir()
    for name, text in PAGES.items():
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WINNOW_EMBEDDING", "off")
        options = ["--store", str(folder / "store"), "--project", "docs"]
        done = CliRunner().invoke(ingest, [str(folder / "docs"), *options])
    assert (done.exit_code, "graph: 4 documents drawn, 0 deleted" in done.stdout) == (0, True), done.output
    return folder


@pytest.fixture
def run(home: Path) -> Any:
    def winnow_graph(*arguments: object, project: str = "docs") -> Result:
        options = ["--store", home / "store", "--project", project]
        return CliRunner().invoke(app, [str(one) for one in (*arguments, *options)])

    return winnow_graph


@contextmanager
def open_graph(path: Path) -> Iterator[SqliteGraph]:
    store = SqliteGraph(path)
    yield store
    store.close()


def test_a_neighbourhood_is_a_tree_of_relations_with_where_they_stand(run: Any) -> None:
    shown = run("show", "configmap")
    assert shown.exit_code == 0, shown.output
    lines = [line.strip("│├└─ ") for line in shown.stdout.splitlines()]
    assert lines[0] == "ConfigMap (identifier)"
    assert lines[lines.index("defined in (1)") + 1] == "ConfigMap  [document, map.md]"
    assert lines[lines.index("named together with (1)") + 1].startswith("Pod  [term, ")
    mentioned = lines.index("mentioned in (3)")
    assert "Both  [document, both.md]" in lines[mentioned : mentioned + 4]


def test_a_thing_is_found_by_its_id_and_looked_at_two_steps_away(run: Any) -> None:
    found = json.loads(run("show", "ConfigMap", "--json").stdout)
    again = json.loads(run("show", found["node"]["id"], "--hops", "2", "--rows", "2", "--json").stdout)
    assert again["node"] == found["node"]
    together = next(group for group in again["groups"] if group["type"] == "CO_OCCURS")
    assert [row["node"]["title"] for row in together["rows"]] == ["Pod"]
    beyond = {row["node"]["title"] for group in together["rows"][0]["groups"] for row in group["rows"]}
    assert beyond
    assert "consists of" not in {group["phrase"] for group in together["rows"][0]["groups"]}


@pytest.mark.parametrize(
    "arguments",
    [("stats",), ("show", "ConfigMap"), ("export", "graph.jsonl"), ("rebuild",)],
    ids=lambda each: each[0],
)
def test_a_project_that_is_not_there_is_a_usage_error_that_names_those_that_are(
    run: Any, arguments: tuple[str, ...]
) -> None:
    result = run(*arguments, project="nope")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "project 'nope' has no documents; projects of this store that have some: docs" in result.stderr


def test_what_is_not_there_is_told_with_what_to_do(run: Any, home: Path) -> None:
    missing = run("show", "Deployment")
    advice = f"winnow graph stats --store {home / 'store'} --project docs shows what there is"
    assert (missing.exit_code, advice in missing.stderr) == (2, True)


def test_a_drawing_is_one_well_formed_file_that_asks_for_no_other(run: Any, tmp_path: Path) -> None:
    done = run("show", "ConfigMap", "--svg", tmp_path / "map.svg", "--html", tmp_path / "map.html")
    assert done.exit_code == 0, done.output
    drawn = ElementTree.parse(tmp_path / "map.svg").getroot()
    titles = {text.text for text in drawn.iter(f"{SVG}text")}
    assert {"ConfigMap", "Pod", "Both", "mentioned in", "defined in"} <= titles
    told = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "mentioned in (3)" in told
    for asks in ("<script", "http-equiv", "src=", "href=", "url(", "@import"):
        assert asks not in told


def test_counts_agree_with_the_report_of_the_ingest(run: Any, home: Path) -> None:
    figures = json.loads(run("stats", "--json").stdout)
    assert (figures["documents"], figures["nodes"]["Document"]) == (4, 4)
    assert set(figures["edges"]) <= set(EDGE_TYPES)
    told = run("stats").stdout
    assert told.startswith("docs: the graph of 4 documents\n")
    assert f"MENTIONS {figures['edges']['MENTIONS']}" in told


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_a_graph_that_was_moved_is_the_same_graph(run: Any, home: Path, tmp_path: Path, format: str) -> None:
    files = tmp_path / format
    assert run("export", files, "--format", format).exit_code == 0
    done = run("import", files, "--json", project=format)
    assert (done.exit_code, json.loads(done.stdout)["documents"]) == (0, 4), done.output
    with open_graph(home / "store" / "graph.sqlite3") as store:
        assert read_all(store, format) == read_all(store, "docs")


def test_an_import_takes_the_place_of_what_was_there(run: Any, home: Path, tmp_path: Path) -> None:
    run("export", tmp_path / "all.jsonl")
    first = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "one.jsonl").write_text(f"{first}\n", encoding="utf-8")
    for name in ("all", "one"):
        assert run("import", tmp_path / f"{name}.jsonl", project="place").exit_code == 0
    assert json.loads(run("stats", "--json", project="place").stdout)["documents"] == 1


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("no.jsonl", None, "cannot be read"),
        ("a.jsonl", "{}\n", "line 1, is not what winnow graph export writes"),
        ("b.jsonl", '{"document_id": "x", "nodes": [], "edges": []}\n', "'x' cannot be the document_id"),
        ("c.jsonl", '{"document_id": 1, "nodes": [{"id": []}], "edges": [{"weight": "x"}]}\n', "line 1"),
        (f"folder/{NODES}", "id,label\n", "its first line must be id:ID,:LABEL"),
    ],
)
def test_files_that_are_none_of_ours_change_nothing(
    run: Any, tmp_path: Path, name: str, text: str | None, said: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if text is not None:
        path.write_text(text, encoding="utf-8")
    before = run("stats", "--json").stdout
    done = run("import", path.parent if "/" in name else path)
    assert (done.exit_code, said in done.stderr) == (2, True), done.output
    assert run("stats", "--json").stdout == before


def test_a_rebuild_ends_where_the_ingest_did(run: Any, home: Path) -> None:
    with open_graph(home / "store" / "graph.sqlite3") as store:
        before = read_all(store, "docs")
        done = run("rebuild")
        assert (done.exit_code, done.stdout.startswith("graph: 4 documents drawn")) == (0, True), done.output
        assert read_all(store, "docs") == before


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [("WINNOW_GRAPH", "off", "the graph is switched off"), ("WINNOW_NEO4J_URL", "nowhere", "nowhere")],
)
def test_without_a_graph_every_command_says_why(
    run: Any, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    done = run("stats")
    assert (done.exit_code, said in done.stderr) == (4, True), done.output


def test_a_store_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["stats", "--store", str(tmp_path / "none")])
    assert (done.exit_code, "winnow ingest PATH" in done.stderr) == (2, True)
    assert not (tmp_path / "none").exists()


def test_a_server_confined_to_a_label_shows_nothing_beyond_it(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_DOC_TAGS", "none of these")
    assert run("show", "ConfigMap").exit_code == 2


def read_all(store: SqliteGraph, project: str) -> Any:
    """The whole graph of a project, whatever its ids are derived from."""
    ids = sorted({node.id for graph in store.export(project) for node in graph.nodes})
    around = [store.expand(project, ids[at : at + 100], 1, limit=200) for at in range(0, len(ids), 100)]
    return store.counts(project), store.nodes(project, ids), around


@settings(max_examples=25, deadline=None)
@given(made=graphs())
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, made: Any) -> None:
    """JSON lines keep every word; CSV keeps what is shown."""
    folder = tmp_path_factory.mktemp("exchange")
    write_graphs(folder / "lines", made, "jsonl")
    assert list(read_graphs(folder / "lines")) == made
    with open_graph(folder / "one.sqlite3") as one, open_graph(folder / "other.sqlite3") as other:
        one.apply(PROJECT, made)
        one.derive(PROJECT)
        write_graphs(folder / "csv", one.export(PROJECT), "csv")
        other.apply(PROJECT, list(read_graphs(folder / "csv")))
        other.derive(PROJECT)
        assert read_all(other, PROJECT) == read_all(one, PROJECT)
        assert walk_from_hits(other, PROJECT, {}, None, 5) is None


@given(title=st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=200))
def test_a_drawing_is_well_formed_whatever_things_are_called(title: str) -> None:
    id = chunk_id("p", "a", (), "", 0)
    rows = tuple(NeighbourRow(Node(id, label, "type", title, anchor=title), title, 1.0, 1) for label in LABELS)
    portrait = Portrait(Node(id, "Entity", "term", title), (RelationGroup("MENTIONS", "in", "in", rows, 9),), ())
    assert ElementTree.fromstring(render_svg(portrait)).tag == f"{SVG}svg"
    assert render_page(portrait).count("<script") == 0
