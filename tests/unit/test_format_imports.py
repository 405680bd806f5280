"""Readers of formats import nothing while they read: the child that reads files can open no module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.office_files import docx, epub, opendocument, paragraph, pptx, shape, xlsx

_PROGRAM = """
import encodings, importlib, io, pkgutil, sys
from winnow.server.readers.formats.parsed_file import ReadOptions
reader = importlib.import_module("winnow.server.readers.formats." + sys.argv[1])
for module in pkgutil.iter_modules(encodings.__path__):
    if module.name not in ("mbcs", "oem"):
        importlib.import_module("encodings." + module.name)
data = sys.stdin.buffer.read()

class Refuser:
    def find_spec(self, name, path=None, target=None):
        raise ImportError(f"late import of {name}")

sys.meta_path.insert(0, Refuser())
print(reader.read(io.BytesIO(data), ReadOptions()).text)
"""
_MESSAGE = b"Subject: =?utf-8?q?gr=C3=BCn?=\nContent-Type: text/html; charset=iso-8859-1\n\n<p>word</p>"
_SAMPLES = {
    "docx": docx(paragraph("word")).getvalue(),
    "pptx": pptx({"one": shape("word")}).getvalue(),
    "workbook": xlsx({"S": [["word", "x"]]}).getvalue(),
    "delimited": b"word,x\n1,2\n",
    "epub": epub({"a": "<html><body><h1>word</h1><ol><li>x</li></ol></body></html>"}).getvalue(),
    "opendocument": opendocument("<text:p>word</text:p>").getvalue(),
    "rtf": rb"{\rtf1\ansicpg1250 word}",
    "notebook": b'{"cells": [{"cell_type": "markdown", "source": "word"}]}',
    "mail": _MESSAGE,
    "subtitles": b"00:00:01,000 --> 00:00:02,000\nword\n",
}


@pytest.mark.parametrize("reader", _SAMPLES)
def test_a_reader_imports_nothing_while_it_reads(reader: str) -> None:
    """What a library imports at its first use is imported with the reader."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, reader],
        input=_SAMPLES[reader],
        capture_output=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert b"word" in done.stdout
