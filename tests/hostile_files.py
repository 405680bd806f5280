"""Generated hostile files, each with the reason that an ingest must give, or None where it is indexed.

``write`` writes a file into a folder. ``reason`` is a part of the expected message; a file without it is indexed.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

KIB, MIB = 1024, 1024 * 1024
Write = Callable[[Path], object]


def _text(text: str) -> Write:
    return lambda path: path.write_text(text, encoding="utf-8", newline="")


def _data(data: bytes) -> Write:
    return lambda path: path.write_bytes(data)


def _front(facts: str) -> Write:
    return _text(f"---\n{facts}\n---\nWords of the page.\n")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        before = os.getcwd()
        os.chdir(path.parent)  # the name of a socket may be 108 bytes long
        try:
            end.bind(path.name)
        finally:
            os.chdir(before)


def _records(*records: object) -> Write:
    return _text("".join(f"{json.dumps(record)}\n" for record in records))


def _long_line(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b'{"_id": 1, "text": "')
        for _ in range(24):
            file.write(b"x" * MIB)
        file.write(b'"}\n{"_id": 2, "text": "after it"}\n')


_MERGES = "a0: &a0 {x: 1}\n" + "\n".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)
)
_RST_LAYERS = "".join(f".. |a{n}| replace:: {f'|a{n - 1}| ' * 9}\n" for n in range(1, 10))

# Name -> how it is written, and part of the reason that the report gives (None: it is indexed, or empty).
FILES: Mapping[str, tuple[Write, str | None]] = MappingProxyType(
    {
        # what is no file
        "pipe.md": (os.mkfifo, "a named pipe, not a file"),
        "socket.md": (_socket, "a socket, not a file"),
        # front matter
        "digits.md": (_front(f"title: 0x{'f' * 20_000}"), None),
        "key_of_digits.md": (_front(f"0x{'f' * 20_000}: 1"), None),
        "sexagesimal.md": (_front(f"weight: {'1:' * 10_000}1.5"), None),
        "merge_keys.md": (_front(_MERGES), "merge keys (<<) are not supported"),
        "layers.md": (
            _front("\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))),
            None,
        ),
        "aliases.md": (_front(f"a: &a {'x' * 20_000}\nb: [{'*a, ' * 9_000}]"), None),
        "flow_depth.md": (_front(f"a: {'[' * 50_000}"), "front matter is read as text: nested too deeply"),
        "block_depth.md": (_front("- " * 5_000), "front matter is read as text: nested too deeply"),
        "wrong_tag.md": (_front("a: !!bool x"), None),
        "wrong_time.md": (_front("a: !!timestamp x"), None),
        "toml_digits.md": (_text(f"+++\ntitle = 0x{'f' * 10_000}\n+++\nWords.\n"), None),
        "toml_depth.md": (_text(f"+++\na = {'[' * 15_000}\n+++\nWords.\n"), "nested too deeply"),
        "toml_dots.md": (_text(f"+++\n{'a.' * 30_000}b = 1\n+++\nWords.\n"), None),
        "labels.md": (
            _front('title: "\\e[31m"\ndate: "Late spring of 2024, shortly after it"\ntags: ["\\a", "\\0"]'),
            None,
        ),
        # Markdown
        "quotes.md": (_text("> " * 50_000), None),
        "brackets.md": (_text("[" * 100_000), None),
        "lists.md": (_text("".join("  " * n + "- a\n" for n in range(300))), None),
        "references.md": (_text("[a]: b\n" * 20_000), None),
        "ticks.md": (_text(" ".join("`" * n for n in range(400))), None),
        "heading.md": (_text(f"# {' ' * 60_000}x\n\n## {'y' * 60_000}\n\nWords.\n"), None),
        "one_letter.md": (_text("a1" * 100_000), None),
        # HTML
        "divs.html": (_text("<div>" * 12_000), "nested too deeply"),
        "navs.html": (_text("<nav>" * 150 + "x" + "<p>Words.</p>"), None),
        "tables.html": (_text("<table><tr><td>x" * 700), "nested too deeply"),
        "attributes.html": (_text(f"<p {' '.join(f'a{n}=1' for n in range(4_000))}>Words.</p>"), None),
        "cells.html": (_text(f"<table>{'<tr><td>' * 5_000}</table>"), None),
        "mark.html": (_text("<!--" * 50_000), None),
        # reStructuredText
        "substitutions.rst": (_text(f".. |a0| replace:: x\n{_RST_LAYERS}\n|a9|\n"), None),
        "growth.rst": (
            _text(f".. |a| replace:: {'x' * 5_000}\n\n" + "|a|\n\n" * 1_000),
            "becomes more than 4 times as long",
        ),
        "long_line.rst": (_text("x" * 20_000), "a line is longer than 10,000 characters"),
        "depth.rst": (_text("".join("  " * n + "a\n\n" for n in range(400))), "nested too deeply"),
        "include.rst": (_text("Title\n=====\n\n.. include:: /etc/passwd\n"), None),
        "raw.rst": (_text("Title\n=====\n\n.. raw:: html\n   :file: /etc/passwd\n"), None),
        "csv.rst": (_text("Title\n=====\n\n.. csv-table::\n   :file: /etc/passwd\n"), None),
        # collections
        "long_line.jsonl": (_long_line, "larger than 8 MiB"),
        "depth.jsonl": (_text('{"_id": 1, "text": ' + "[" * 100_000 + "\n"), "nested too deeply"),
        "number.jsonl": (_text('{"_id": 1, "text": "x", "n": ' + "9" * 10_000 + "}\n"), "not JSON"),
        "id.jsonl": (_records({"_id": "/" * 100_000, "text": "x"}), "_id is not a text or number"),
        "id_of_lists.jsonl": (_records({"_id": [[1]], "text": "x"}), "_id is not a text or number"),
        "title.jsonl": (_records({"_id": 1, "title": "t" * MIB, "text": "Words. " * 500}), None),
        "surrogates.jsonl": (_text('{"_id": "\\ud800", "title": "\\udfff", "text": "Words \\ud83d."}\n'), None),
        "lines.jsonl": (_text("x\n" * 5_000), "4,900 more lines are not records"),
        # encodings
        "utf16.md": ((lambda path: path.write_bytes("Words.".encode("utf-16-le"))), "binary, not text"),
        "invalid.md": (_data(b"Words \xff\xfe\x80."), None),
        "nul.md": (_data(b"Words.\n" * 2_000 + b"\0" * 100), None),
        "marks.md": (_data(b"\xef\xbb\xbf" * 3 + b"Words."), None),
        "half_mark.md": (_data(b"\xff\xfe" + b"\x00\xd8" * 50), None),
        "empty.html": (_data(b""), None),
        # text
        "spaces.py": (_text(" " * 200_000), None),
        "static.java": (_text("static\n" * 20_000), None),
        "parentheses.go": (_text("func (\n" * 20_000), None),
        "long.csv": (_text("a,b;" * 50_000), None),
        "row.json": (_text("[" * 100_000), None),
    }
)


def write(folder: Path, name: str) -> Path:
    """Write the hostile file of this name into a folder."""
    path = folder / name
    FILES[name][0](path)
    return path
