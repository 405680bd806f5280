"""The collections that tasks ask about: folders, and the documentation of the standard library.

The project contains no collection: questions, judgements and texts are read when needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from winnow.server.commands.demonstration.stdlib import read_corpus
from winnow.server.errors import WinnowError
from winnow.server.readers.documents import RawDocument

CollectionKind = Literal["documentation", "judged", "generated"]
_MARKDOWN = "md"
_CORPUS = "corpus.jsonl"
_YES_OR_NO = frozenset({"", "yes", "no"})


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """The layout of a collection and the project of its index."""

    kind: CollectionKind
    project: str


# The last one is generated, so it is always available.
COLLECTIONS: Mapping[str, CorpusRow] = MappingProxyType(
    {
        "k8s_docs": CorpusRow("documentation", "k8s"),
        "hotpot100": CorpusRow("judged", "hotpot100"),
        "2wiki": CorpusRow("judged", "2wiki"),
        "scifact": CorpusRow("judged", "scifact"),
        "stdlib": CorpusRow("generated", "python-stdlib"),
    }
)


@dataclass(frozen=True)
class TaskCollection:
    """A collection's sources. ``folder`` is None for the one that is generated."""

    name: str
    folder: Path | None = None

    @property
    def project(self) -> str:
        """The project of its index."""
        return COLLECTIONS[self.name].project

    def paths(self) -> Sequence[Path]:
        """The files to ingest; none for the generated collection."""
        if self.folder is None:
            return ()
        return (self.folder / (_CORPUS if COLLECTIONS[self.name].kind == "judged" else _MARKDOWN),)

    def documents(self) -> Iterator[RawDocument]:
        """The documents to ingest for the generated collection."""
        for name, text in self.sources.items():
            yield RawDocument(uri=name, type="markdown", title=name.removesuffix(".md"), text=text)

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """File name, as in search results -> its whole original text."""
        if self.folder is None:
            return {f"{module.name}.md": module.markdown() for module in read_corpus()}
        if COLLECTIONS[self.name].kind == "judged":
            return {
                f"{_CORPUS}#{record['_id']}": f"{record['title']}\n{record['text']}"
                for record in self._records(_CORPUS)
            }
        root = self.paths()[0]
        return {
            path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(root.rglob("*.md"))
        }

    def question(self, query: str) -> str:
        """The text of one of the collection's queries."""
        if query not in self._queries:
            raise WinnowError(
                "NOT_FOUND", f"{self.name} has no query {query!r}; is it the collection that is meant?"
            )
        return str(self._queries[query]["text"])

    def relevant(self, query: str) -> Sequence[str]:
        """The titles of the documents judged relevant to a query."""
        lines = (self._folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]
        judged = [fields[1] for line in lines if (fields := line.split("\t"))[0] == query and int(fields[2]) > 0]
        return [self.sources[f"{_CORPUS}#{document}"].partition("\n")[0] for document in judged]

    def answers(self, query: str) -> Sequence[str]:
        """The literal answer to a query, if the collection has one other than yes or no."""
        answer = self._queries[query].get("metadata", {}).get("answer", "")
        return () if answer.casefold() in _YES_OR_NO else (answer,)

    @cached_property
    def _queries(self) -> Mapping[str, Mapping[str, Any]]:
        return {record["_id"]: record for record in self._records("queries.jsonl")}

    def _records(self, file: str) -> Iterator[dict[str, Any]]:
        with (self._folder / file).open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    @property
    def _folder(self) -> Path:
        if self.folder is None:
            raise WinnowError("INVALID_REQUEST", f"{self.name} has no queries of its own; write a question")
        return self.folder


def find_collections(folder: Path | None) -> dict[str, TaskCollection]:
    """The available collections: below ``folder`` or ``folder`` itself, and the generated one."""
    collections = {"stdlib": TaskCollection("stdlib")}
    for name in COLLECTIONS:
        for place in () if folder is None else (folder / name, folder):
            if place.name == name and place.is_dir():
                collections.setdefault(name, TaskCollection(name, place))
    return collections
