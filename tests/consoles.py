"""A console for tests: the real web server on a free port of loopback, over a store with hostile documents."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.hostile_pages import EVIL, KILN, PLAIN, write_files
from tests.ingesting import ingest_paths
from tests.serving import running
from winnow.server.backends.opening import open_backends
from winnow.server.commands.console.reports import make_reports
from winnow.server.commands.entry.app import open_application
from winnow.server.console.access import ConsoleAccess
from winnow.server.console.desk import IDLE_SECONDS, Desk, OpenApplication
from winnow.server.console.pages import PAGES
from winnow.server.console.web import build_console
from winnow.server.ingest.selection.request import IngestRequest, StoredRequest
from winnow.server.jobs.job_files import JobFiles
from winnow.server.jobs.records import JobFailure, JobRequest, new_job
from winnow.server.jobs.target import target_of
from winnow.server.jobs.watching.sources import WatchedSource, change_sources
from winnow.server.jobs.watching.status import PathStatus, write_status
from winnow.server.runtime.audit import open_audit_log
from winnow.server.settings.loading import Configuration, load
from winnow.server.settings.settings import Settings
from winnow.server.transports.addresses import listen
from winnow.server.transports.http import web_server

# Values of secret settings; no page may show them.
CANARY = "canary-4711-secret"
SCRIPT = "0123456789abcdef"


def make_store(folder: Path, **changed: Any) -> Configuration:
    """The settings of a store with hostile documents, an audited script, and two claims that contradict.

    It has no model, and is opened in this process.
    """
    flags = {
        "store": folder / "store",
        "project": "p",
        "embedding": "off",
        "tools": ("all", "pages", "claims"),
        "qdrant_api_key": CANARY,
        "daemon": "off",
        **changed,
    }
    configuration = load(flags)
    backends = open_backends(configuration.settings, wait_for_model=False)
    try:
        files = write_files(folder / "files")
        assert ingest_paths(target_of(configuration.settings, backends, None), [files]).failures == ()
    finally:
        backends.close()
    _audit_script(configuration.settings)
    _ask_for_ingests(configuration.settings.store, folder / "files")
    asyncio.run(_write_claims(configuration.settings))
    return configuration


def _ask_for_ingests(store: Path, files: Path) -> None:
    """A watched source with a file that is not read, and a job that failed."""
    source = WatchedSource(id="files", request=IngestRequest(paths=(files,)), project="p")
    change_sources(store, lambda before: [*before, source])
    write_status(store, [PathStatus("files", str(files), "p", "events", unreadable=1, failures=(EVIL[5],))])
    job = new_job(JobRequest(project="p", ingest=StoredRequest(paths=(files / EVIL[4][:20],)), root=str(files)))
    failure = JobFailure(reason="NOT_FOUND", message=EVIL[1])
    JobFiles(store).write(job.model_copy(update={"state": "failed", "failure": failure}))


def _audit_script(settings: Settings) -> None:
    log = open_audit_log(settings, "executions")
    assert log is not None
    log.write(
        {
            "execution_id": SCRIPT,
            "client": "c",
            "source_sha256": "ab" * 32,
            "verdict": "ok",
            "error": EVIL[0],
            "wall_ms": 12.5,
            "sdk_calls": 2,
            "rows": 30,
            "tokens_kept_out": 4_000,
            "tokens_returned": 250,
            "calls": [{"call": "semantic_search", "rows": 30}],
            "walls": {"stood": ["seccomp"], "missing": ["landlock"]},
        }
    )


async def _write_claims(settings: Settings) -> None:
    """Two entries; the quote of each stands in a document."""
    writing = settings.model_copy(update={"enable_writes": True})
    async with open_application(writing, wait_for_model=False) as application:
        kb = application.kb
        caller = kb.caller("console")
        ids = []
        for text, quote in (
            ("Kilns are kept at ninety degrees.", KILN),
            (f"Backups are kept for ninety days: {EVIL[1]}", PLAIN),
        ):
            found = await kb.call("kb.scan", {"pattern": quote, "literal": True}, caller)
            claim = _claim(text, quote, found.payload["results"][0]["passage_id"])
            ids.append((await kb.call("claims.write", claim, caller)).payload["entry_id"])
        verdict = {"claim": 1, "other": f"{ids[1]}.1", "judgement": "contradicts", "note": EVIL[2]}
        await kb.call("claims.revise", {"entry_id": ids[0], "verdicts": [verdict]}, caller)


def _claim(text: str, quote: str, section: str) -> dict[str, Any]:
    evidence = [{"quote": quote, "section_id": section, "stance": "supports"}]
    claims = [{"text": text, "confidence": 0.9, "evidence": evidence}]
    return {"topic": "kilns/rules", "content": EVIL[3], "claims": claims}


@dataclass(frozen=True, slots=True)
class Console:
    """A console that runs: its settings, its desk, its application and its origin."""

    settings: Settings
    desk: Desk
    application: ConsoleAccess
    origin: str

    @property
    def base(self) -> str:
        """The beginning of the addresses of its pages."""
        return self.origin + self.application.root

    def client(self) -> httpx2.AsyncClient:
        """A browser without a cookie."""
        return httpx2.AsyncClient(base_url=self.base, timeout=60)

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[httpx2.AsyncClient]:
        """The browser that brings the token: one for each console."""
        async with self.client() as http:
            assert (await http.get(self.application.address)).status_code == 200
            yield http


@asynccontextmanager
async def console_over(
    configuration: Configuration,
    idle_seconds: float = IDLE_SECONDS,
    open_once: OpenApplication | None = None,
) -> AsyncIterator[Console]:
    """A console over the store of these settings. ``open_once`` opens its application in place of the usual."""
    settings = configuration.settings
    (listening,) = listen("127.0.0.1", 0)
    desk = Desk(settings, open_once or (lambda: open_application(settings, wait_for_model=True)), idle_seconds)
    port = listening.getsockname()[1]
    application = build_console(desk, make_reports(configuration), port)
    async with running(web_server(application), [listening]):
        yield Console(settings, desk, application, f"http://127.0.0.1:{port}")


def addresses_of(document_id: str, node: str, entry: str) -> list[str]:
    """An address of every page with something to show, and of their errors."""
    query = {
        "/": ["", "?q=ninety+degrees&compare=1", "?q=x%3Cscript%3Ey&tier=full"],
        "/why": ["", f"?q=ninety&document={document_id}", "?q=%3Cscript%3E+kept&document=%3Cb%3E&path=%22%3E"],
        "/documents": ["", "?path=nothing"],
        "/documents/health": [""],
        "/document": [f"?id={document_id}", "?id=kilns.pdf", "?id=../../secret"],
        "/page": [
            f"?document={document_id}&quote=ninety+days",
            "?document=kilns.pdf&page=2&quote=ninety+degrees",
            "?document=%3Cb%3E",
        ],
        "/graph": ["", f"?node={node}", "?node=%3Cscript%3E"],
        "/claims": ["", "?q=kilns", "?topic=%3Cb%3E"],
        "/claim": [f"?id={entry}", "?id=%22%3E"],
        "/tools": [""],
        "/scripts": ["", "?verdict=ok", "?since=%3C"],
        "/script": [f"?id={SCRIPT}", "?id=other"],
        "/savings": [""],
        "/sources": ["", "?live=on"],
        "/settings": [""],
        "/doctor": [""],
    }
    assert query.keys() == {page.path for page in PAGES}
    return [path + each for path, each_of in query.items() for each in each_of]


async def find_addresses(http: httpx2.AsyncClient) -> list[str]:
    """An address of every page, with the ids that the console itself links to."""
    rules = _ids((await http.get("/documents", params={"path": "rules*"})).text, r"/document\?id=([0-9a-z]+)")
    claims = _ids((await http.get("/claims")).text, r"/claim\?id=([0-9a-z]+)")
    return addresses_of(rules[0], rules[0], claims[0])


def _ids(page: str, pattern: str) -> list[str]:
    found = re.findall(pattern, page)
    assert found, pattern
    return found
