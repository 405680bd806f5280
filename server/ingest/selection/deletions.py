"""Decides which deletions an ingest makes at once and which it holds back.

A disk that is not mounted looks like a folder whose files were all deleted. So an ingest deletes nothing below a
source whose folder is empty, and a watcher, which runs unattended, holds back deletions of many documents at once.
A file that has the size and the time of a missing one has been renamed, which is no deletion.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from winnow.server.text.sizes import count_of

# A watcher holds back deletions from so many documents and so large a part of a source on.
MANY_DOCUMENTS, LARGE_SHARE = 25, 0.25
_ALL = 2**63
_HELD = (
    "{source}: {held:,} of {known:,} documents are gone, and were kept: {why}; if they are to leave the index, "
    "run: {command}"
)
_COMMAND = "winnow ingest {source} --allow-deletions --project {project}"
_EMPTIED = "the folder or library is empty or gone, as when its disk is not mounted"
_MANY = "so many deletions at once may be a mistake"
_LEFT_OUT = "{documents} left the index because patterns leave their files out; --no-ignore reads them"


@dataclass(frozen=True, slots=True)
class DeletionRule:
    """Which deletions a run makes without being asked.

    ``is_watching``: hold back many at once. ``recent``: documents that earlier runs deleted a moment ago, which
    count as well. ``confirmed``: so many may be deleted, whatever the other fields say. ``command`` makes what was
    held back.
    """

    is_watching: bool = False
    recent: int = 0
    confirmed: int = 0
    command: str = _COMMAND

    @property
    def admits_all(self) -> bool:
        """Whether any deletion is made."""
        return self.confirmed >= _ALL

    def admits(self, documents: int, known: int, *, is_emptied: bool) -> bool:
        """Whether to delete so many of a source's ``known`` documents; ``is_emptied``: its folder is empty."""
        if documents <= self.confirmed:
            return True
        total = documents + self.recent
        is_many = total >= MANY_DOCUMENTS and total >= LARGE_SHARE * (known + self.recent)
        return not is_emptied and not (self.is_watching and is_many)


CAUTIOUS = DeletionRule()
ANY_DELETION = DeletionRule(confirmed=_ALL)
# Holds back the deletion of many documents of a library at once, also where a person watches: Zotero empties its
# trash and leaves groups without a look at the index.
GUARDED = DeletionRule(is_watching=True, command="winnow zotero ingest --allow-deletions --project {project}")


class Deletions:
    """The deletions of one run in a project: how many were made or held back, and which files were renamed.

    ``known``: the documents of each source before the run.
    """

    def __init__(self, rule: DeletionRule, project: str, known: Mapping[str, int]) -> None:
        self._rule = rule
        self._project = project
        self._known = known
        self._admitted: Counter[str] = Counter()
        self._held: Counter[tuple[str, str]] = Counter()
        self._arrived: defaultdict[str, list[str]] = defaultdict(list)
        self._renamed: Counter[str] = Counter()
        self._written: Counter[str] = Counter()
        self.left_out = 0

    @property
    def held(self) -> int:
        """The number of documents that were kept although they are gone."""
        return self._held.total()

    @property
    def moved(self) -> int:
        """The number of documents of renamed files that were written under their new names."""
        return sum(min(documents, self._written[name]) for name, documents in self._renamed.items())

    def add_arrivals(self, names: Iterable[tuple[str, str]]) -> None:
        """Note the stamps of files that are new in this run, each with the name of its file."""
        for stamp, name in names:
            self._arrived[stamp].append(name)

    def add_written(self, names: Iterable[str]) -> None:
        """Note the documents that were written, each by the name of its file."""
        self._written.update(names)

    def take_renamed(self, stamp: str | None, documents: int) -> bool:
        """Whether a missing file of this stamp and so many documents is one of the new files, which it uses up."""
        if stamp is None or not self._arrived.get(stamp):
            return False
        self._renamed[self._arrived[stamp].pop()] += documents
        return True

    def admit(self, source: str, documents: int, *, is_emptied: bool = False) -> bool:
        """Whether so many more documents of the source are deleted; if not, they count as held back."""
        total = self._admitted[source] + documents
        if not documents or self._rule.admits(total, self._known.get(source, 0), is_emptied=is_emptied):
            self._admitted[source] = total
            return True
        self._held[source, _EMPTIED if is_emptied else _MANY] += documents
        return False

    def warnings(self) -> Iterator[str]:
        """The notes of the report about deletions that were held back, and about those that patterns caused."""
        for (source, why), held in self._held.items():
            command = self._rule.command.format(source=source, project=self._project)
            yield _HELD.format(
                source=source, held=held, known=self._known.get(source, 0), why=why, command=command
            )
        if self.left_out:
            yield _LEFT_OUT.format(documents=count_of(self.left_out, "document"))
