"""Reads Jupyter notebooks: cells of text as they are, code in fences with its outputs, images left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from winnow.server.models import Reading
from winnow.server.readers.common.markdown_draft import MarkdownDraft
from winnow.server.readers.documents import UnreadableFile, clean_text
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.text.markup.code_marks import fenced

# Notebooks store images as text; without images, few notebooks have a megabyte.
_LARGEST_FILE_BYTES = 64 * 1024 * 1024
_MOST_CELLS = 20_000
_OUTPUT_CHARS, _CELL_OUTPUT_CHARS = 2_000, 6_000
_MOST_OUTPUTS = 200
_LANGUAGE = re.compile(r"[A-Za-z0-9+#.-]{1,30}")
_TERMINAL_CODE = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S[^\n]*)", re.M)


@dataclass(slots=True)
class _Counts:
    images: int = 0
    cut_outputs: int = 0


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a notebook of format 4 or 3. Raises ``UnreadableFile``."""
    notebook = _load(file)
    cells = _cells(notebook)
    if len(cells) > _MOST_CELLS:
        raise UnreadableFile(f"has more than {_MOST_CELLS:,} cells; split it")
    language = _language(notebook)
    draft, counts = MarkdownDraft(), _Counts()
    title = ""
    for number, cell in enumerate(cells, 1):
        blocks = [block for block in _blocks(cell, language, counts) if block.strip()]
        if blocks:
            draft.begin("cell", number)
            for block in blocks:
                draft.add(block)
        if (
            not title
            and cell.get("cell_type") == "markdown"
            and (match := _HEADING.search(blocks[0] if blocks else ""))
        ):
            title = match[1].strip()
    left_out = [(counts.images, "images and other media"), (counts.cut_outputs, "long outputs")]
    notes = tuple(f"{count:,} {what} were left out" for count, what in left_out if count)
    return ParsedFile(draft.text, Reading("notebook", notes=notes), title, draft.places, _facts(notebook))


def _heading(cell: Mapping[str, Any], blocks: list[str]) -> str:
    """The first heading of a cell of text, "" for other cells."""
    match = _HEADING.search(blocks[0]) if blocks and cell.get("cell_type") != "code" else None
    return match[1].strip() if match else ""


def _load(file: BinaryIO) -> Mapping[str, Any]:
    data = file.read(_LARGEST_FILE_BYTES + 1)
    if len(data) > _LARGEST_FILE_BYTES:
        raise UnreadableFile(f"is larger than {_LARGEST_FILE_BYTES >> 20} MiB; clear its outputs")
    try:
        notebook = json.loads(data)
    except RecursionError:
        raise UnreadableFile("is not a notebook: its JSON is nested too deeply") from None
    except ValueError:
        raise UnreadableFile("is not a notebook: it is not JSON") from None
    if not isinstance(notebook, dict) or not ("cells" in notebook or "worksheets" in notebook):
        raise UnreadableFile("is not a notebook: it has no cells")
    return notebook


def _cells(notebook: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The cells; format 3 has them in worksheets."""
    sheets = _listed(notebook.get("worksheets"))
    listed = [cell for sheet in [notebook, *map(_mapping, sheets)] for cell in _listed(sheet.get("cells"))]
    return [cell for cell in listed if isinstance(cell, dict)]


def _language(notebook: Mapping[str, Any]) -> str:
    metadata = _mapping(notebook.get("metadata"))
    kernel, language = _mapping(metadata.get("kernelspec")), _mapping(metadata.get("language_info"))
    named = language.get("name") or kernel.get("language") or ""
    return named if isinstance(named, str) and _LANGUAGE.fullmatch(named) else ""


def _facts(notebook: Mapping[str, Any]) -> dict[str, Any]:
    metadata = _mapping(notebook.get("metadata"))
    names = [_mapping(author).get("name") for author in _listed(metadata.get("authors"))]
    authors = [name for name in names if isinstance(name, str) and name.strip()]
    return {"author": ", ".join(authors)} if authors else {}


def _blocks(cell: Mapping[str, Any], language: str, counts: _Counts) -> Iterator[str]:
    """The blocks of a cell: its text, or its code and what it printed."""
    source = _text(cell.get("source", cell.get("input")))
    match cell.get("cell_type"):
        case "code":
            yield _fenced(source, language)
            yield from _outputs(_listed(cell.get("outputs")), counts)
        case "heading":
            level = cell.get("level")
            yield f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {source.strip()}"
        case _:
            yield source


def _outputs(outputs: list[Any], counts: _Counts) -> Iterator[str]:
    left = _CELL_OUTPUT_CHARS
    counts.cut_outputs += max(len(outputs) - _MOST_OUTPUTS, 0)
    for output in map(_mapping, outputs[:_MOST_OUTPUTS]):
        text = _TERMINAL_CODE.sub("", _output_text(output, counts)).strip("\n")
        most = min(_OUTPUT_CHARS, left)
        if len(text) > most:
            counts.cut_outputs += 1
            text = f"{text[:most].rstrip()} ..." if most else ""
        left = max(left - len(text), 0)
        if text.strip():
            yield _fenced(text, "")


def _output_text(output: Mapping[str, Any], counts: _Counts) -> str:
    """The text of an output; an image is counted."""
    if output.get("output_type") == "error" or output.get("output_type") == "pyerr":
        return f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    if "text" in output:
        return _text(output["text"])
    data = _mapping(output.get("data"))
    if any(kind.startswith(("image/", "video/", "audio/")) for kind in data):
        counts.images += 1
        return ""  # its text is the name of a Python object
    return _text(data.get("text/markdown", data.get("text/plain")))


def _fenced(text: str, language: str) -> str:
    """The text as code; "" for no text."""
    return fenced(text.strip("\n"), language) if text.strip() else ""


def _text(value: Any) -> str:
    """A text, which notebooks store as a string or as a list of lines."""
    if isinstance(value, str):
        return clean_text(value)
    lines: Iterable[Any] = value if isinstance(value, list) else ()
    return clean_text("".join(line for line in lines if isinstance(line, str)))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
