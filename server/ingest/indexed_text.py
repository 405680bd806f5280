"""The text that is indexed for a chunk: title and headings, the chunk's text, and the document's front matter.

Front matter is indexed with the document's first chunk, because searches name what stands there only: the stage of
a feature, the version that has it, a short description (docs/decisions/0003-retrieval.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from winnow.server.models import Chunk, Document

# Longer front matter is indexed up to so many values and characters.
_MOST_VALUES, _MOST_CHARS = 200, 2_000
# Words and versions, which are numbers with a point between them. Other numbers are weights, sizes and dates.
_WORD_OR_VERSION = re.compile(r"[^\W\d_]|\d\.\d")
_ADDRESS = re.compile(r"\s*(?:\.{0,2}/|[A-Za-z][A-Za-z0-9+.-]{0,30}://)\S*\s*")


def indexed_text(document: Document, chunk: Chunk) -> str:
    """The text that is embedded and indexed for a chunk.

    A line ``title > heading > heading``, the chunk's text, and after that of the first chunk the front matter.
    """
    prefix = " > ".join([document.title, *chunk.heading_path])
    is_first = chunk.ordinal == 0 and chunk.start >= document.body_start
    parts = (prefix, chunk.text, searchable_fields(document) if is_first else "")
    return "\n".join(part for part in parts if part)


def searchable_fields(document: Document) -> str:
    """The texts in a document's front matter, one a line, each once, without the title.

    Texts have letters or a version, and are not addresses. Fields whose names begin with an underscore are
    instructions to the program that builds the pages, and are left out.
    """
    texts = dict.fromkeys(islice(_front_matter_texts(document), _MOST_VALUES)) if document.body_start else {}
    return "\n".join(texts)[:_MOST_CHARS]


def _front_matter_texts(document: Document) -> Iterator[str]:
    for name, value in document.metadata.items():
        values = value if isinstance(value, list | tuple) else [value]
        texts = (" ".join(text.split()) for text in values if isinstance(text, str) and _is_searchable(text))
        yield from (text for text in texts if not name.startswith("_") and text != document.title)


def _is_searchable(text: str) -> bool:
    return _WORD_OR_VERSION.search(text) is not None and not _ADDRESS.fullmatch(text)
