"""Export and import of graphs: JSON lines, or the CSV files that ``neo4j-admin database import`` reads.

JSON lines have one document per line, complete. CSV has every entity once, under its first title and the type that
wins (``records.ENTITY_TYPES``). Derived edges are in neither, because a store computes them itself.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from winnow.server.errors import WinnowError
from winnow.server.retrieval.graph.records import DocumentGraph, Edge, Node, entity_type_order, group_by_document

Format = Literal["csv", "jsonl"]

NODES, EDGES = "nodes.csv", "relationships.csv"
# Column name for neo4j-admin -> field.
_NODE_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "id:ID": "id",
        ":LABEL": "label",
        "type": "type",
        "title": "title",
        "level:int": "level",
        "tokens:int": "tokens",
        "doc_tag": "doc_tag",
        "anchor": "anchor",
        "document_id": "document_id",
    }
)
_EDGE_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        ":START_ID": "source",
        ":END_ID": "target",
        ":TYPE": "type",
        "weight:double": "weight",
        "confidence:double": "confidence",
        "evidence:string[]": "evidence",
        "document_id": "document_id",
    }
)
_NUMBERS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {"level": int, "tokens": int, "weight": float, "confidence": float}
)
_FROM_JSON = MappingProxyType({**_NUMBERS, "evidence": tuple})
_FROM_CSV = MappingProxyType({**_NUMBERS, "evidence": lambda cell: tuple(filter(None, cell.split(";")))})


@dataclass(frozen=True, slots=True)
class ExportCounts:
    """The number of documents, nodes and edges written."""

    documents: int
    nodes: int
    edges: int


def write_graphs(path: Path, graphs: Iterable[DocumentGraph], format: Format) -> ExportCounts:
    """Write the graphs (by uri): to the folder ``path`` as CSV, or to the file ``path`` as JSON lines."""
    return _write_csv(path, graphs) if format == "csv" else _write_lines(path, graphs)


def read_graphs(path: Path) -> Iterator[DocumentGraph]:
    """Read what ``write_graphs`` wrote: a folder of CSV files, or a file of JSON lines.

    Raises ``WinnowError("INVALID_REQUEST")`` that names the file and line that cannot be read.
    """
    return _read_csv(path) if path.is_dir() else _read_lines(path)


def _write_lines(path: Path, graphs: Iterable[DocumentGraph]) -> ExportCounts:
    documents = nodes = edges = 0
    with path.open("w", encoding="utf-8") as file:
        for graph in graphs:
            file.write(json.dumps(asdict(graph), ensure_ascii=False, separators=(",", ":")) + "\n")
            documents, nodes, edges = documents + 1, nodes + len(graph.nodes), edges + len(graph.edges)
    return ExportCounts(documents, nodes, edges)


def _read_lines(path: Path) -> Iterator[DocumentGraph]:
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
                nodes = tuple([Node(**_convert_fields(node, _FROM_JSON)) for node in row["nodes"]])
                edges = tuple([Edge(**_convert_fields(edge, _FROM_JSON)) for edge in row["edges"]])
                graph = DocumentGraph(row["document_id"], nodes, edges)
            except (ValueError, KeyError, TypeError) as error:
                raise _malformed_error(path, number, error) from None
            yield graph


def _write_csv(folder: Path, graphs: Iterable[DocumentGraph]) -> ExportCounts:
    folder.mkdir(parents=True, exist_ok=True)
    entities: dict[str, Node] = {}
    documents = nodes = edges = 0
    with ExitStack() as stack:
        node_rows = _open_writer(stack, folder / NODES, _NODE_COLUMNS)
        edge_rows = _open_writer(stack, folder / EDGES, _EDGE_COLUMNS)
        for graph in graphs:
            documents, edges = documents + 1, edges + len(graph.edges)
            for node in graph.nodes:
                if node.label == "Entity":
                    entities[node.id] = _merge_entities(entities.get(node.id, node), node)
                else:
                    nodes += 1
                    node_rows.writerow(_cells_of(node, _NODE_COLUMNS))
            edge_rows.writerows(_cells_of(edge, _EDGE_COLUMNS) for edge in graph.edges)
        node_rows.writerows(_cells_of(node, _NODE_COLUMNS) for _, node in sorted(entities.items()))
    return ExportCounts(documents, nodes + len(entities), edges)


def _read_csv(folder: Path) -> Iterator[DocumentGraph]:
    nodes = [Node(**row) for row in _read_rows(folder / NODES, _NODE_COLUMNS)]
    edges = [Edge(**row) for row in _read_rows(folder / EDGES, _EDGE_COLUMNS)]
    return group_by_document(nodes, edges)


def _read_rows(path: Path, columns: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    with _open(path) as file:
        rows = csv.reader(file, strict=True)
        if next(rows, None) != list(columns):
            raise WinnowError("INVALID_REQUEST", f"{path}: its first line must be {','.join(columns)}")
        try:
            for cells in rows:
                yield _convert_fields(dict(zip(columns.values(), cells, strict=True)), _FROM_CSV)
        except (ValueError, csv.Error) as error:
            raise _malformed_error(path, rows.line_num, error) from None


def _convert_fields(row: Mapping[str, Any], converters: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    return {field: converters[field](value) if field in converters else value for field, value in row.items()}


def _open_writer(stack: ExitStack, path: Path, columns: Mapping[str, str]) -> Any:
    rows = csv.writer(stack.enter_context(path.open("w", encoding="utf-8", newline="")), lineterminator="\n")
    rows.writerow(columns)
    return rows


def _cells_of(record: Node | Edge, columns: Mapping[str, str]) -> Sequence[str | int | float]:
    cells = (getattr(record, field) for field in columns.values())
    return [";".join(cell) if isinstance(cell, tuple) else cell for cell in cells]


def _merge_entities(first: Node, other: Node) -> Node:
    return replace(first, type=min(first.type, other.type, key=entity_type_order))


def _open(path: Path) -> Any:
    try:
        return path.open(encoding="utf-8", errors="surrogateescape", newline="")
    except OSError as error:
        raise WinnowError("INVALID_REQUEST", f"{path} cannot be read: {error.strerror}") from None


def _malformed_error(path: Path, line: int, error: Exception) -> WinnowError:
    return WinnowError("INVALID_REQUEST", f"{path}, line {line}, is not what winnow graph export writes: {error}")
