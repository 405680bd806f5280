"""Other readers of PDF, measured where they are installed: each in a process of its own, with its interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.bench.other_interpreter import run_program

_SECONDS = 900.0

# Defines read(path), which gives Markdown.
_MARKITDOWN = """
NAME = "markitdown"
from markitdown import MarkItDown
converter = MarkItDown()
def read(path):
    return converter.convert(path).markdown
"""
_DOCLING = """
NAME = "docling"
from docling.datamodel.base_models import InputFormat
from docling.datamodel.pipeline_options import PdfPipelineOptions
from docling.document_converter import DocumentConverter, PdfFormatOption
options = PdfPipelineOptions(do_ocr=False)
converter = DocumentConverter(format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options)})
def read(path):
    return converter.convert(path).document.export_to_markdown()
"""
READERS: Mapping[str, str] = MappingProxyType({"markitdown": _MARKITDOWN, "docling": _DOCLING})

_HARNESS = """
import importlib.metadata, json, sys, time, warnings
warnings.simplefilter("ignore")
job = json.load(sys.stdin)
began, busy = time.perf_counter(), time.process_time()
texts = {path: read(path) for path in job["paths"]}
print(json.dumps({
    "version": importlib.metadata.version(NAME),
    "seconds": time.perf_counter() - began,
    "processor_s": time.process_time() - busy,
    "texts": texts,
}))
"""


def read_all(python: str, reader: str, paths: Sequence[Path]) -> dict[str, Any]:
    """The Markdown of each path and the seconds of all, or why there are none."""
    return run_program(python, READERS[reader] + _HARNESS, {"paths": [str(path) for path in paths]}, _SECONDS)
