"""Any file content: reading it returns storable documents, warnings, or a reason."""

from __future__ import annotations

import atexit
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from winnow.server.ingest.children.parser import ParserProcess
from winnow.server.models import Document
from winnow.server.readers.chunking import chunk
from winnow.server.readers.documents import RawDocument, UnreadableFile, clean_document
from winnow.server.readers.reading import ReadFlaw, read
from winnow.server.text import stated_facts

_NAMES = ("a.md", "a.html", "a.rst", "a.jsonl", "a.txt", "a.py", "a.csv", "a.toml.md")
_FOLDER = tempfile.TemporaryDirectory(prefix="winnow-fuzz-")
_APART = ParserProcess()
atexit.register(_APART.close)


def check(data: bytes) -> None:
    """The first byte chooses the kind of file, the others are its content."""
    name = _NAMES[data[0] % len(_NAMES)] if data else _NAMES[0]
    path = Path(_FOLDER.name, name)
    path.write_bytes(data[1:])
    reason = ""
    try:
        for found in read(path, name, _APART):
            _hold(found)
    except UnreadableFile as error:
        reason = str(error)
    assert not any(word in reason for word in ("failed", "crashed")), reason


def _hold(found: RawDocument | ReadFlaw) -> None:
    if isinstance(found, ReadFlaw):
        assert found.name
        assert found.reason
        return
    raw = clean_document(found)
    assert clean_document(raw) == raw
    facts = (raw.title, raw.vendor, raw.doc_tag, raw.environment, raw.repository, raw.created, *raw.tags)
    assert all(fact.isprintable() and fact == fact.strip() for fact in facts), facts
    assert len(raw.title) <= stated_facts.TITLE_CHARS
    assert len(raw.created) <= stated_facts.MOMENT_CHARS
    assert all(0 < len(tag) <= stated_facts.LABEL_CHARS for tag in raw.tags)
    json.dumps([raw.uri, raw.text, dict(raw.metadata)], ensure_ascii=False, allow_nan=False).encode()
    document = Document("d", "p", raw.uri, "", raw.title, raw.type, "", body_start=raw.body_start)
    assert all(raw.text[one.start : one.end] == one.text for one in chunk(document, raw.text))


def seeds() -> Iterator[bytes]:
    """A small file of each kind."""
    texts = (
        "---\ntitle: A\ntags: [x, y]\ndate: 2026-02-01\na: &a b\nc: *a\n---\n# A\n\n> - b\n\n| a |\n|---|\n",
        "<title>A</title><main><h1>A</h1><table><tr><td>b<table></table></td></tr></table><ul><li><a href=b>c</a>",
        "A\n=\n\n.. |a| replace:: b\n\n|a| `c <d.html>`_ [#]_\n\n.. [#] e\n\n=== ===\na   b\n=== ===\n",
        '{"_id": 1, "title": "A", "text": "b", "metadata": {"tags": ["c"], "date": "2026", "n": 1e9}}\n{}\n',
        "Words.\n",
        "class A:\n    def b(self):\n        pass\n",
        "a,b\n1,2\n",
        "+++\ntitle = 'A'\na.b = [1, 2]\n+++\nWords.\n",
    )
    for number, text in enumerate(texts):
        yield bytes([number]) + text.encode()
