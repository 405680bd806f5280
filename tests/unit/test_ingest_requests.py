"""One request of an ingest: files that hold one open as before, and what no request has is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from winnow.server.bibliographies.zotero.choice import ZoteroChoice
from winnow.server.engine.messages import ingest_request_of
from winnow.server.engine.wire import WireError
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.jobs.records import Job, JobRequest
from winnow.server.jobs.watching.sources import WatchedSource

# As earlier versions wrote them.
SOURCE = (
    '{"id": "notes", "paths": ["/srv/notes"], "project": "p", "doc_tag": "wiki", "environment": "prod", '
    '"repository": "acme/web", "forced": true, "include": ["*.md"], "exclude": ["part4/"], "ignore_files": false, '
    '"keeps_hidden": true, "uses_ocr": true, "references": "/srv/works.bib", "zotero": null, "confirmed": 3, '
    '"confirmed_at": 2.5}'
)
ZOTERO_SOURCE = (
    '{"id": "zotero", "paths": ["zotero:all libraries, in Thesis"], "project": "p", "doc_tag": "", '
    '"environment": "", "repository": "", "forced": false, "include": [], "exclude": [], "ignore_files": true, '
    '"keeps_hidden": false, "uses_ocr": false, "references": "", "zotero": {"libraries": [], '
    '"collections": ["Thesis"], "tags": [], "data_folder": "", "api": "", "uses_api": true}, "confirmed": 0, '
    '"confirmed_at": 0.0}'
)
JOB = (
    '{"id":"job_00000000000000000000000000000000","request":{"project":"p","path":"/srv/a","root":"/srv",'
    '"zotero":null,"linked_below":[],"languages":["deu"],"references":"/srv/works.bib","references_root":"/srv",'
    '"may_rebuild":true,"reads_weaker":true},"state":"queued","created_at":1.0,"starts":0}'
)
ZOTERO_JOB = (
    '{"project":"p","path":"zotero","root":"zotero","zotero":{"tags":["Pile"]},"linked_below":["/srv"],'
    '"languages":[],"references":null,"references_root":null,"may_rebuild":false,"reads_weaker":false}'
)
WHOLE = IngestRequest(
    paths=(Path("/srv/notes"), Path("/srv/a name \udcff")),
    doc_tag="wiki",
    environment="prod",
    forced=True,
    ignore_files=False,
    references=Path("/srv/works.bib"),
    passwords=("one", "two"),
    allow_deletions=True,
)


@pytest.mark.parametrize("text", [SOURCE, ZOTERO_SOURCE])
def test_a_watched_source_is_read_and_written_in_the_form_of_earlier_versions(text: str) -> None:
    source = WatchedSource.model_validate_json(text)
    assert json.dumps(source.model_dump(mode="json")) == text


def test_a_watched_source_holds_the_request_that_its_fields_say() -> None:
    source = WatchedSource.model_validate_json(SOURCE)
    assert source.request == IngestRequest(
        paths=(Path("/srv/notes"),),
        doc_tag="wiki",
        environment="prod",
        repository="acme/web",
        forced=True,
        include=("*.md",),
        exclude=("part4/",),
        ignore_files=False,
        keeps_hidden=True,
        uses_ocr=True,
        references=Path("/srv/works.bib"),
    )
    zotero = WatchedSource.model_validate_json(ZOTERO_SOURCE)
    assert zotero.request == IngestRequest(zotero=ZoteroChoice(collections=("Thesis",)))
    assert zotero.paths == ("zotero:all libraries, in Thesis",)


def test_a_job_of_an_earlier_version_is_the_same_request() -> None:
    request = Job.model_validate_json(JOB).request
    assert (request.source, request.root, request.reads_weaker) == ("/srv/a", "/srv", True)
    assert (request.ingest.paths, request.ingest.uses_ocr) == ((Path("/srv/a"),), True)
    assert (request.ingest.references, request.references_root) == (Path("/srv/works.bib"), "/srv")
    assert request.ingest.linked_below is None
    zotero = JobRequest.model_validate_json(ZOTERO_JOB)
    assert (zotero.source, zotero.ingest.zotero) == ("zotero", ZoteroChoice(tags=("Pile",)))
    assert zotero.ingest.linked_below == (Path("/srv"),)
    for each in (request, zotero):
        assert JobRequest.model_validate_json(each.model_dump_json()) == each


@pytest.mark.parametrize(
    "changed",
    [
        {"passwords": ["secret"]},
        {"allow_deletions": True},
        {"linked_below": ["/srv"]},
        {"unknown": 1},
        {"paths": []},
        {"paths": 5},
        {"paths": ["notes"]},
        {"paths": ["/a\nb"]},
        {"paths": ["zotero:library"]},
        {"paths": [f"/{number}" for number in range(101)]},
        {"zotero": {}},
        {"environment": "other"},
        {"references": "works.bib"},
        {"request": {"paths": ["/srv"], "passwords": ["secret"]}},
    ],
    ids=str,
)
def test_a_source_with_what_no_source_has_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        WatchedSource.model_validate_json(json.dumps({**json.loads(SOURCE), **changed}))


@pytest.mark.parametrize(
    "changed",
    [
        {"passwords": ["secret"]},
        {"allow_deletions": True},
        {"unknown": 1},
        {"path": "a"},
        {"path": 5},
        {"path": "zotero"},
        {"root": "zotero"},
        {"zotero": {}},
        {"references": "works.bib"},
        {"ingest": {"paths": ["/srv/a", "/srv/b"]}, "path": None},
    ],
    ids=str,
)
def test_a_job_with_what_no_job_has_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        JobRequest.model_validate_json(json.dumps({**json.loads(JOB)["request"], **changed}))


def test_an_engine_gets_the_request_that_its_client_has() -> None:
    sent = json.dumps({"request": WHOLE.model_dump(mode="json")})
    assert ingest_request_of(json.loads(sent)) == WHOLE


@pytest.mark.parametrize(
    "fields",
    [
        [],
        {"unknown": 1},
        {"paths": "/srv"},
        {"paths": [1]},
        {"paths": ["/"] * 100_001},
        {"ignore_files": 1},
        {"allow_deletions": "yes"},
        {"passwords": ["one"] * 101},
        {"zotero": {"unknown": 1}},
        {"doc_tag": None},
    ],
    ids=lambda fields: str(fields)[:30],
)
def test_an_engine_refuses_what_no_request_of_an_ingest_has(fields: object) -> None:
    with pytest.raises(WireError):
        ingest_request_of({"request": fields})


def test_a_request_shows_no_passwords() -> None:
    assert "secret" not in repr(IngestRequest(passwords=("secret",)))


def test_a_job_for_zotero_names_the_folders_of_linked_files() -> None:
    """Where it does not, an earlier version meant none; a record of this one is refused."""
    former = json.loads(ZOTERO_JOB)
    del former["linked_below"]
    assert JobRequest.model_validate(former).ingest.linked_below == ()
    with pytest.raises(ValidationError):
        JobRequest.model_validate_json('{"project":"p","root":"zotero","ingest":{"zotero":{}}}')
