"""A synthetic Zotero: libraries made from a seed, changed as a user changes them, with their files on the disk.

``tests.zotero_database`` writes them as Zotero's database, ``tests.zotero_api`` serves them as its local API.
Versions count as in Zotero 10: saving an object gives it the library's next version; moving to the trash and
renaming a tag do not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.pdf_files import PdfFile, build_pdf, paragraph

_SIGNS = "ABCDEFGHIJKLMNPQRSTUVWXYZ23456789"
# Type of item: the names that it has for title, container, publisher; the role of its first creator.
_TYPES: dict[str, tuple[str, str, str, str]] = {
    "journalArticle": ("title", "publicationTitle", "publisher", "author"),
    "book": ("title", "", "publisher", "author"),
    "bookSection": ("title", "bookTitle", "publisher", "author"),
    "conferencePaper": ("title", "proceedingsTitle", "publisher", "author"),
    "thesis": ("title", "", "university", "author"),
    "report": ("title", "", "institution", "author"),
    "case": ("caseName", "reporter", "", "author"),
    "webpage": ("title", "websiteTitle", "", "author"),
    "preprint": ("title", "", "repository", "author"),
    "film": ("title", "", "distributor", "director"),
    "dataset": ("title", "", "repository", "author"),
    "patent": ("title", "", "", "inventor"),
}
DATE_FIELDS = {"case": "dateDecided", "patent": "issueDate"}
# A date as the user wrote it, and as Zotero's database has its beginning.
DATES = {
    "2019-03-05": "2019-03-05",
    "March 2019": "2019-03-00",
    "1999": "1999-00-00",
    "in press": "0000-00-00",
    "5. Mai 2021": "2021-05-05",
}
_FAMILIES = ("Volta", "Müller", "Ørsted", "Ångström", "李", "Иванова", "Nguyễn", "O'Neill", "García Márquez")
_WORDS = ("piles", "galvanic", "current", "résistance", "magnetism", "Strom", "電流", "field", "optics", "wire")
_TAGS = ("current", "to read", "gelesen", "история", "law", "physics")
_COLORS = ("#ffd400", "#ff6666", "#5fb236", "#2ea8e5")


@dataclass(slots=True)
class Entry:
    """An item or a collection: its data as in the API's JSON. ``parsed`` is the beginning of its date."""

    key: str
    data: dict[str, Any]
    parsed: str = ""
    version: int = 0
    in_trash: bool = False
    number: int = 0  # the id of its row


@dataclass(slots=True)
class Library:
    """A library and what a user does to it. ``id`` is "library" or "groups/123"."""

    id: str
    name: str
    random: random.Random
    version: int = 0
    items: dict[str, Entry] = field(default_factory=dict)
    collections: dict[str, Entry] = field(default_factory=dict)
    clock: int = 0
    added: int = 0

    def new_key(self) -> str:
        return "".join(self.random.choices(_SIGNS, k=8))

    def save(self, entry: Entry) -> Entry:
        """Give an entry the next version, as Zotero does when an object is saved."""
        self.version += 1
        self.clock += 1
        entry.version = self.version
        entry.data["dateModified"] = (
            f"2026-01-01T{self.clock // 3600:02}:{self.clock // 60 % 60:02}:{self.clock % 60:02}Z"
        )
        return entry

    def add(self, item_type: str, parsed: str = "", **data: Any) -> Entry:
        entry = Entry(self.new_key(), {"itemType": item_type, **data}, parsed)
        self.added += 1
        entry.number = self.added
        self.items[entry.key] = entry
        return self.save(entry)

    def add_collection(self, name: str, parent: str = "") -> Entry:
        entry = Entry(self.new_key(), {"name": name, "parentCollection": parent or False})
        self.added += 1
        entry.number = self.added
        self.collections[entry.key] = entry
        return self.save(entry)

    def change(self, key: str, **data: Any) -> None:
        self.items[key].data.update(data)
        self.save(self.items[key])

    def move(self, key: str, *collections: str) -> None:
        self.change(key, collections=list(collections))

    def rename_collection(self, key: str, name: str) -> None:
        self.collections[key].data["name"] = name
        self.save(self.collections[key])

    def trash_collection(self, key: str, *, in_trash: bool) -> None:
        self.collections[key].in_trash = in_trash
        self.save(self.collections[key])

    def trash(self, key: str) -> None:
        """Move to the trash: Zotero writes the rows at once and gives them no new version."""
        self.items[key].in_trash = True

    def restore(self, key: str) -> None:
        self.items[key].in_trash = False
        self.save(self.items[key])

    def delete(self, key: str) -> None:
        """Delete an item for good, with what is below it."""
        for each in [each.key for each in self.items.values() if each.data.get("parentItem") == key]:
            self.delete(each)
        del self.items[key]
        self.version += 1

    def delete_collection(self, key: str) -> None:
        """Delete a collection; its items stay, and have no new version."""
        for entry in self.items.values():
            if key in entry.data.get("collections", ()):
                entry.data["collections"].remove(key)
        del self.collections[key]
        self.version += 1

    def rename_tag(self, old: str, new: str) -> None:
        """Rename a tag everywhere: Zotero writes the rows at once and gives the items no new version."""
        for entry in self.items.values():
            tags = [each["tag"] for each in entry.data.get("tags", ())]
            if old in tags:
                entry.data["tags"] = [
                    {"tag": tag} for tag in dict.fromkeys(new if tag == old else tag for tag in tags)
                ]

    def listed(self) -> list[Entry]:
        """The items that are not in the trash, nor below one that is."""
        return [entry for entry in self.items.values() if not self._is_in_trash(entry)]

    def _is_in_trash(self, entry: Entry) -> bool:
        parent = self.items.get(entry.data.get("parentItem") or "")
        return entry.in_trash or (parent is not None and self._is_in_trash(parent))

    def of_type(self, *types: str) -> list[Entry]:
        """Listed items of these types, in the order in which they were added."""
        return [entry for entry in self.listed() if entry.data["itemType"] in types]


@dataclass(slots=True)
class Zotero:
    """Zotero's data folder with its storage, the folder of linked files, and the libraries."""

    folder: Path
    linked: Path
    libraries: list[Library]
    server: str = "SYNTHETIC001"

    def library(self, id: str = "library") -> Library:
        return next(each for each in self.libraries if each.id == id)

    def stored_path(self, attachment: Entry) -> Path:
        return self.folder / "storage" / attachment.key / attachment.data["filename"]

    def file_path(self, attachment: Entry) -> Path:
        """The file of an attachment as Zotero resolves it, whether it is there or not."""
        stated = attachment.data.get("path")
        if stated is None:
            return self.stored_path(attachment)
        return self.linked / stated.removeprefix("attachments:")

    def attach(
        self, library: Library, parent: Entry | None, name: str, content: bytes | None, **data: Any
    ) -> Entry:
        """Add a stored file; without content it was not downloaded."""
        own = {"parentItem": parent.key} if parent else {}
        usual = {
            "title": "Full Text PDF",
            "linkMode": "imported_file",
            "contentType": "application/pdf",
            "tags": [],
        }
        entry = library.add("attachment", **{**usual, **own, "filename": name, **data})
        if content is not None:
            self.stored_path(entry).parent.mkdir(parents=True)
            self.stored_path(entry).write_bytes(content)
        return entry


def make_zotero(folder: Path, works: int = 100, seed: int = 17) -> Zotero:
    """A user's library with three quarters of the works and a group's with the others; three objects a work."""
    chance = random.Random(seed)
    linked = folder / "papers"
    linked.mkdir(parents=True)
    data = folder / "Zotero"
    (data / "storage").mkdir(parents=True)
    own = Library("library", "My Library", random.Random(chance.random()))
    group = Library("groups/123", "Electricity Group", random.Random(chance.random()))
    zotero = Zotero(data, linked, [own, group])
    _fill(zotero, own, works * 3 // 4)
    _fill(zotero, group, works - works * 3 // 4)
    return zotero


def sample_pdf(title: str, pages: int = 2) -> bytes:
    """A PDF whose pages name the title and their number."""
    return build_pdf(
        PdfFile(
            [
                paragraph(
                    72, 760, [title.encode("ascii", "ignore").decode(), f"Sentence of page {page} on wires."]
                )
                for page in range(1, pages + 1)
            ]
        )
    )


def _fill(zotero: Zotero, library: Library, works: int) -> None:
    top = library.add_collection("Thesis")
    chapter = library.add_collection("Chapter 2", top.key)
    collections = [
        top,
        chapter,
        library.add_collection("Versuche/2", chapter.key),
        library.add_collection("Ärzte"),
    ]
    for number in range(works):
        work = _add_work(library, number, collections)
        _add_parts(zotero, library, work, number)
    library.add(
        "note", note="<p>A lone note on <b>wires</b> &amp; jars</p><p>Second line</p>", tags=_tags(["law"])
    )
    zotero.attach(library, None, "lone.pdf", sample_pdf("A lone file"), title="A lone file", collections=[top.key])
    library.add("attachment", title="A site", linkMode="linked_url", url="https://example.org/", tags=[])
    trashed = library.of_type("book", "thesis")[:2]
    for work in trashed:
        library.trash(work.key)


def _add_work(library: Library, number: int, collections: Sequence[Entry]) -> Entry:
    chance = library.random
    item_type = list(_TYPES)[number % len(_TYPES)]
    title, container, publisher, role = _TYPES[item_type]
    stated = list(DATES)[number % len(DATES)]
    words = " ".join(chance.choices(_WORDS, k=4))
    named = {container: "Annalen der Physik", publisher: "Universität Wien"}
    native = {"citationKey": f"native{number}"} if number % 3 == 0 else {}
    extra = {"extra": f"read twice\nCitation Key: extra{number}\nPMID: 5"} if number % 3 == 1 else {}
    return library.add(
        item_type,
        DATES[stated],
        **{title: f"Work {number} on <i>{words}</i>", DATE_FIELDS.get(item_type, "date"): stated},
        **{name: value for name, value in named.items() if name},
        **native,
        **extra,
        abstractNote=f"The abstract of work {number}: {words}.",
        DOI=f"https://doi.org/10.1000/{library.id.replace('/', '-')}.{number}",
        url=f"https://example.org/{number}",
        language=chance.choice(["en", "de-DE", "", "русский"]),
        **({"volume": str(number), "issue": "2", "pages": "5–9"} if item_type == "journalArticle" else {}),
        creators=list(_creators(chance, role)),
        tags=_tags(chance.sample(_TAGS, k=number % 3)),
        collections=[each.key for each in chance.sample(list(collections), k=number % 3)],
    )


def _creators(chance: random.Random, role: str) -> Iterator[dict[str, str]]:
    for family in chance.sample(_FAMILIES, k=1 + int(chance.random() * 3)):
        yield {"creatorType": role, "firstName": chance.choice("ABC") + ".", "lastName": family}
    yield {"creatorType": "contributor", "name": "Royal Society"}


def _tags(names: Iterable[str]) -> list[dict[str, Any]]:
    return [{"tag": name} for name in names]


def _add_parts(zotero: Zotero, library: Library, work: Entry, number: int) -> None:
    """Give most works a file, some of them annotations, notes, links and files that are not here."""
    if number % 5 != 4:
        content = None if number % 10 == 3 else sample_pdf(f"Work {number}")
        file = zotero.attach(library, work, f"Müller - {number} – Wörk.pdf", content)
        for place in range(number % 4):
            add_annotation(library, file, place)
    if number % 7 == 0:
        note = f"<h1>Notes on work {number}</h1><p>Ein <i>Gedanke</i> zu Ørsted.</p>"
        parent = library.add("note", parentItem=work.key, note=note, tags=_tags(["gelesen"]))
        picture = {"linkMode": "embedded_image", "contentType": "image/png", "filename": "image.png"}
        library.add("attachment", parentItem=parent.key, **picture)
    if number % 11 == 0:
        (zotero.linked / f"linked {number}.pdf").write_bytes(sample_pdf(f"Linked {number}"))
        base = "attachments:" if number % 2 else f"{zotero.linked}/"
        _link(library, work, f"{base}linked {number}.pdf")
    if number == 5:
        _link(library, work, "/nowhere/gone.pdf")
        _link(library, work, "C:\\papers\\elsewhere.pdf")
        library.add(
            "attachment", parentItem=work.key, title="Site", linkMode="linked_url", url="https://example.org"
        )


def _link(library: Library, work: Entry, path: str) -> None:
    data = {"linkMode": "linked_file", "contentType": "application/pdf", "path": path}
    library.add("attachment", parentItem=work.key, title="Linked", tags=[], **data)


def add_annotation(library: Library, file: Entry, place: int, **data: Any) -> Entry:
    """An annotation on a page of a file: a highlight, a comment or a marked area."""
    kind = ("highlight", "note", "image")[place % 3]
    text = {"annotationText": f"marked words {place}"} if kind == "highlight" else {}
    stated = {
        "annotationType": kind,
        **text,
        "annotationComment": "" if kind == "image" else f"Bemerkung {place} — für später",
        "annotationColor": _COLORS[place % len(_COLORS)],
        "annotationPageLabel": f"{place + 33}",
        "annotationSortIndex": f"{place:05}|{place * 10:06}|00100",
        "annotationPosition": json.dumps({"pageIndex": place % 2, "rects": [[10, 20, 30, 40]]}),
        "tags": [],
        **data,
    }
    return library.add("annotation", parentItem=file.key, **stated)
