"""Notebooks become Markdown: a cell is a place, code stands in fences, images are counted."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats import notebook as reader
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions


def _read(cells: list[dict[str, Any]], **fields: Any) -> ParsedFile:
    metadata = {"language_info": {"name": "python"}, "authors": [{"name": "Ada"}]}
    return _read_json({"cells": cells, "metadata": metadata, "nbformat": 4, **fields})


def _read_json(value: Any) -> ParsedFile:
    return reader.read(io.BytesIO(json.dumps(value).encode()), ReadOptions())


def _code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": list(outputs)}


def test_cells_are_places_with_text_code_and_outputs() -> None:
    """Code has the language of the kernel; a traceback is its last line."""
    stream = {"output_type": "stream", "name": "stdout", "text": ["\x1b[31m3\x1b[0m\n"]}
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["long"]}
    image = {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}}
    cells = [
        {"cell_type": "markdown", "source": ["# Study\n", "words"]},
        {"cell_type": "code", "source": "", "outputs": []},
        _code("print(1 + 2)", stream, error, image),
    ]
    parsed = _read(cells)
    assert parsed.text == (
        "# Study\nwords\n\n```python\nprint(1 + 2)\n```\n\n```\n3\n```\n\n```\nValueError: no\n```"
    )
    assert [(place.kind, place.number) for place in parsed.places] == [("cell", 1), ("cell", 3)]
    assert (parsed.title, parsed.facts) == ("Study", {"author": "Ada"})
    assert parsed.reading.notes == ("1 images and other media were left out",)


def test_long_outputs_are_cut() -> None:
    """A log of a training run is not what a notebook is about."""
    parsed = _read([_code("x", *({"output_type": "stream", "text": "y" * 3_000} for _ in range(5)))])
    assert len(parsed.text) < 7_000
    assert parsed.reading.notes == ("5 long outputs were left out",)


def test_fences_within_code_do_not_end_it() -> None:
    """The fence around it is longer."""
    assert _read([_code("a = '```'")]).text == "````python\na = '```'\n````"


def test_format_3_is_read() -> None:
    """Its cells are in worksheets."""
    cells = [{"cell_type": "heading", "level": 2, "source": "Old"}, {"cell_type": "code", "input": "x = 1"}]
    assert _read_json({"worksheets": [{"cells": cells}], "metadata": {}}).text == "## Old\n\n```\nx = 1\n```"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is not JSON"),
        (b"\xff\xfe\x00", "it is not JSON"),
        (b"[1]", "it has no cells"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"cells": [' + b'{"source":"x"},' * 1_000_000 + b"{}]}", "more than 20,000 cells"),
    ],
    ids=["empty", "binary", "list", "deep", "million"],
)
def test_a_file_that_is_no_notebook_has_a_plain_reason(data: bytes, reason: str) -> None:
    """Also a million cells."""
    with pytest.raises(UnreadableFile, match=reason):
        reader.read(io.BytesIO(data), ReadOptions())


@pytest.mark.parametrize("value", [None, 3, [], {}, [None], {"cells": 3}, [[1]]])
def test_fields_of_other_types_are_passed_over(value: Any) -> None:
    """A notebook that another program wrote may hold anything anywhere."""
    code = {"cell_type": "code", "source": value, "outputs": value}
    cells = [code, {"cell_type": value, "source": "kept"}, value]
    assert _read_json({"cells": cells, "metadata": value}).text == "kept"
