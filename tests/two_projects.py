"""A store with two projects of different words, and a key for each; for tests of what a key reaches."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.jobs.target import target_of
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.key_file import add_key, new_key
from winnow.server.storage.keys.records import AccessKey

RED, BLUE = "red-team", "blue-team"
# A word that only the documents of this project hold: in their text, title and file name.
WORDS = {RED: "scarletine", BLUE: "ceruleanic"}
QUESTION = "which proxy keeps the secret"


@dataclass(frozen=True, slots=True)
class Client:
    """A client with a key: the text that it sends, the record, and the name of its connections."""

    text: str
    key: AccessKey
    connection: str

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.text}"}


def make_client(store: Path, name: str, *projects: str, **options: object) -> Client:
    """A new key of the store, and the client that has it."""
    key, text = new_key(name, int(time.time()), projects=projects, **options)
    add_key(store, key, int(time.time()))
    rights = {"is_read_only": key.read_only, "calls_per_minute": key.calls_per_minute}
    return Client(str(text), key, key_name(key.id, key.projects, **rights))


def write_project(folder: Path, word: str) -> None:
    """Three documents with this word, one of which is linked to another and has a vendor."""
    folder.mkdir(parents=True)
    front = f"---\nvendor: {word} works\ntags: [{word}]\n---\n"
    for number in range(3):
        text = (
            f"{front}# The {word} page {number}\n\nThe proxy keeps the secret {word} of gate {number}. "
            f"See [the next]({word}-{(number + 1) % 3}.md).\n\n## Rules of {word}\n\n"
            f"Every gate of {word} closes at ten.\n"
        )
        (folder / f"{word}-{number}.md").write_text(text, "utf-8")


def make_store(folder: Path, embedding: str = "off") -> Settings:
    """A store with both projects; settings that serve them, all tools listed."""
    store, roots = folder / "store", folder / "files"
    for project, word in WORDS.items():
        write_project(roots / word, word)
        settings = load_settings(store=store, project=project, embedding=embedding)
        backends = open_backends(settings, wait_for_model=True)
        try:
            model = backends.embedder.ready()
            report = ingest_paths(target_of(settings, backends, model), [roots / word])
            assert (report.documents, report.failures) == (3, ())
        finally:
            backends.close()
    return load_settings(
        store=store,
        project=RED,
        projects=(RED, BLUE),
        embedding=embedding,
        tools=("all", "research", "core", "claims", "pages"),
        legacy_tools=True,
        enable_writes=True,
        ingest_roots=(roots,),
        calls_per_minute=10_000,
        reads_per_minute=10_000,
        daemon="off",
    )
