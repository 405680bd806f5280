"""Ingests that an agent asks for: to queue one, to look at it, to cancel it.

No script reaches these operations, and those that write need the operator's switch ``enable_writes``. A job is
found by its id, which cannot be guessed and which no tool lists, and only in projects that the caller may name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from winnow.server.bibliographies.locators import ZOTERO as ZOTERO_SOURCE
from winnow.server.bibliographies.zotero.choice import ZoteroChoice
from winnow.server.contracts.jobs import IngestFromSource, JobAnswer, JobCancel, JobStatus, ZoteroOptions
from winnow.server.errors import REASONS, WinnowError
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.jobs.admission import ZOTERO, admit, admit_zotero
from winnow.server.jobs.job_files import KEPT_SECONDS
from winnow.server.jobs.queue import JobQueue
from winnow.server.jobs.records import MAX_LANGUAGES, Job, JobRequest
from winnow.server.jobs.reports import describe_job, is_final, render_job
from winnow.server.operations.answers.budget import Size
from winnow.server.operations.base import SEARCH_SECONDS, Answer, RequestContext
from winnow.server.operations.declaration import Operation, ToolSpec, may_write
from winnow.server.operations.research.models import require_project
from winnow.server.runtime.sessions.host_words import error_for
from winnow.server.runtime.sessions.identities import identity_of
from winnow.server.text.printable import one_line

# How long a client may ask for a job that has ended.
JOBS_KEPT = timedelta(seconds=KEPT_SECONDS)

_OFF = "this server does not change the index: the operator starts it with --enable-writes"
_DAMAGED = (
    "the record of job {job} cannot be read; what the job wrote stays in the index: call ingest_from_source again "
    "to go on"
)
_LIBRARY_OF_OTHERS = (
    "source: libraries of Zotero are in a project that this key may not use; ask the operator, who may ingest "
    "them into a project of this key: winnow zotero ingest --project PROJECT"
)
_NO_QUEUE = "this process runs no jobs; ask a server (winnow serve)"


def queue_ingest(context: RequestContext, request: IngestFromSource) -> Answer:
    """Queue an ingest, or find the unfinished one that was asked for with the same arguments."""
    queue = _writable_queue(context)
    own = require_project(context, request.project)
    find_places = _zotero_places if request.source == ZOTERO else _file_places
    chosen = tuple((request.options.ocr_languages or own.languages)[:MAX_LANGUAGES])
    ingest, roots = find_places(context, request, uses_ocr=bool(chosen))
    _check_model(context, request.project, may_rebuild=request.options.force_rebuild)
    asked = JobRequest(
        project=request.project,
        ingest=ingest,
        **roots,
        languages=chosen,
        may_rebuild=request.options.force_rebuild,
        reads_weaker=context.settings.allow_weaker_reader,
    )
    return _answer(context, queue, queue.submit(asked))


def _file_places(
    context: RequestContext, request: IngestFromSource, *, uses_ocr: bool
) -> tuple[IngestRequest, dict[str, Any]]:
    """The ingest of a file or folder, and the roots of its paths. Raises ``WinnowError`` as ``admit`` does."""
    roots, store = context.settings.ingest_roots, context.settings.store
    if request.options.zotero is not None:
        raise WinnowError("INVALID_REQUEST", 'options.zotero is for source "zotero"; name that, or leave it out')
    found, named = admit(request.source, roots, store), request.options.references_path
    references = admit(named, roots, store, "references_path") if named else None
    for admitted, name in ((found, "source"), (references, "references_path")):
        if admitted is not None:
            _refuse_files_of_others(context, admitted.path, name)
    ingest = IngestRequest(
        paths=(found.path,), uses_ocr=uses_ocr, references=references.path if references else None
    )
    return ingest, {"root": str(found.root), "references_root": str(references.root) if references else None}


def _refuse_files_of_others(context: RequestContext, path: Path, name: str) -> None:
    """Refuse a file of a project that the client's key does not reach: the roots are those of all projects."""
    if _is_of_others(context, path):
        raise WinnowError(
            "SCOPE_VIOLATION",
            f"{name}: this path has files of a project that this key may not use; name a file or folder of its "
            "own projects, or ask the operator",
        )


def _is_of_others(context: RequestContext, path: Path) -> bool:
    """Whether there are files of a project that a client whose key is confined may not name.

    Files that a project in the client's reach was ingested from as well are that client's, too.
    """
    own, foreign = _by_reach(context, context.index.catalogue.sources)
    if any(path.is_relative_to(source) for source in own):
        return False
    return any(path.is_relative_to(source) or Path(source).is_relative_to(path) for source in foreign)


def _by_reach(context: RequestContext, sources_of: Callable[[str], Iterable[str]]) -> tuple[Set[str], Set[str]]:
    """The sources of projects that a client whose key is confined may name, and those of the others alone.

    A project that was deleted and can still be restored is one of the others.
    """
    own: set[str] = set()
    foreign: set[str] = set()
    if identity_of(context.caller.connection).projects:
        catalogue = context.index.catalogue
        for name in (*(project.name for project in catalogue.projects()), *catalogue.hidden_projects()):
            (own if name in context.settings.reachable else foreign).update(sources_of(name))
    return own, foreign - own


def _zotero_places(
    context: RequestContext, request: IngestFromSource, *, uses_ocr: bool
) -> tuple[IngestRequest, dict[str, Any]]:
    """The ingest of libraries of Zotero. Raises ``WinnowError`` where the operator does not allow it.

    A client whose key is confined is refused where another project has a library, and its linked files are read
    in no folder that has files of another project.
    """
    below = admit_zotero(context.settings.ingest_roots)
    indexed = context.index.catalogue.indexed_documents
    _, foreign = _by_reach(context, lambda project: (each.source for each in indexed(project)))
    if any(source.startswith(ZOTERO_SOURCE) for source in foreign):
        raise WinnowError("SCOPE_VIOLATION", _LIBRARY_OF_OTHERS)
    if request.options.references_path is not None:
        raise WinnowError("INVALID_REQUEST", "references_path: Zotero has the facts of its works; leave it out")
    chosen = request.options.zotero or ZoteroOptions()
    taken = ZoteroChoice(
        libraries=(chosen.library,) if chosen.library else (),
        collections=tuple(chosen.collections),
        tags=tuple(chosen.tags),
    )
    linked_below = tuple(folder for folder in below if not _is_of_others(context, folder))
    return IngestRequest(zotero=taken, uses_ocr=uses_ocr, linked_below=linked_below), {"root": ZOTERO}


def show_job(context: RequestContext, request: JobStatus) -> Answer:
    """The state of a job; one that another process left behind goes on."""
    queue = _queue_of(context)
    job = _find(context, queue, request.job_id)
    if not job.is_final:
        queue.wake()
    return _answer(context, queue, job)


def cancel_job(context: RequestContext, request: JobCancel) -> Answer:
    """Ask for the end of a job; one that has ended stays as it is."""
    queue = _writable_queue(context)
    job = _find(context, queue, request.job_id)
    if not job.is_final:
        queue.cancel(job)
    return _answer(context, queue, queue.files.read(job.id) or job)


def _answer(context: RequestContext, queue: JobQueue, job: Job) -> Answer:
    unfinished = [each.id for each in queue.files.list_jobs().unfinished]
    place = unfinished.index(job.id) if job.id in unfinished else 0
    payload = describe_job(job, place, is_cancelling=queue.files.is_to_cancel(job.id))
    if failure := payload.get("failure"):
        reason = failure["reason"] if failure["reason"] in REASONS else "INTERNAL"
        told = error_for(WinnowError(reason, failure["message"]), context.caller.connection)
        payload["failure"] = {**failure, "message": told.message}
    return Answer(payload, "metadata", 1, 0)


def _writable_queue(context: RequestContext) -> JobQueue:
    if not context.settings.enable_writes:
        raise WinnowError("SCOPE_VIOLATION", _OFF)
    return _queue_of(context)


def _queue_of(context: RequestContext) -> JobQueue:
    if context.jobs is None:
        raise WinnowError("INDEX_UNAVAILABLE", _NO_QUEUE)
    return context.jobs


def _find(context: RequestContext, queue: JobQueue, job_id: str) -> Job:
    job = queue.files.read(job_id)
    if job is None and queue.files.is_damaged(job_id):
        raise WinnowError("INDEX_UNAVAILABLE", _DAMAGED.format(job=job_id))
    if job is None or job.request.project not in context.settings.reachable:
        raise WinnowError(
            "NOT_FOUND",
            f"there is no job {one_line(job_id)}; ids are kept for a week. What a job wrote stays in the index: "
            "call ingest_from_source again to go on",
        )
    return job


def _check_model(context: RequestContext, project: str, *, may_rebuild: bool) -> None:
    """Raise ``WinnowError`` where the project's vectors come from another model, unless they may be rebuilt.

    A rebuild embeds every project of the store again, so all of them must be in scope.
    """
    embedder, catalogue = context.index.embedder.ready(), context.index.catalogue
    indexed_with = catalogue.embedding(project)
    if embedder is None or indexed_with in ("", embedder.fingerprint):
        return
    if not may_rebuild:
        raise WinnowError(
            "EMBEDDING_MISMATCH",
            f"project {project!r} was indexed with {indexed_with}, and the model of this server is "
            f"{embedder.fingerprint}; with options.force_rebuild the whole store is embedded again with it",
            details={"project": project, "indexed_with": indexed_with, "model": embedder.fingerprint},
        )
    if any(other.name not in context.settings.reachable for other in catalogue.projects()):
        raise WinnowError(
            "SCOPE_VIOLATION",
            "force_rebuild embeds the whole store again, and it has projects outside this server's scope; ask the "
            "operator to run: winnow reindex",
        )
    if catalogue.hidden_projects():
        raise WinnowError(
            "INVALID_REQUEST",
            "force_rebuild would remove projects for good that were deleted and can still be restored; ask the "
            "operator to run: winnow project purge, or winnow reindex",
        )


_MAX_SIZE = Size(tokens=4_000, bytes=24 * 1024)
_NEXT = "next: job_status with this job_id; searches go on meanwhile"


def render_state(payload: dict[str, Any]) -> list[str]:
    """The job, and while it has not ended, what to call next."""
    return [*render_job(payload), *([] if is_final(payload) else [_NEXT])]


_job_tool = partial(ToolSpec, answer=JobAnswer, render=render_state, max_size=_MAX_SIZE, pack="research")
_INGEST_FROM_SOURCE_DESCRIPTION = """\
Index a file, a folder or Zotero in a project: the result, or after 12 seconds a job_id.
Use when: the user wants documents added or refreshed, in a folder that the operator allows.
Do not use when: you search. Documents of changed files are replaced, those of deleted files removed.
Returns at most: one job, 4,000 tokens.
If you need more, call: job_status with job_id; job_cancel ends it.
Defaults: no OCR. Max: 20 unfinished jobs."""
INGEST_FROM_SOURCE = Operation(
    "ingest_from_source",
    IngestFromSource,
    queue_ingest,
    in_scripts=False,
    seconds=SEARCH_SECONDS,
    tool=_job_tool(
        title="Ingest files",
        description=_INGEST_FROM_SOURCE_DESCRIPTION,
        read_only=False,
        destructive=True,
        is_offered=may_write,
    ),
)
_JOB_STATUS_DESCRIPTION = """\
Show how far an ingest is, and its result once it is done.
Use when: ingest_from_source returned a job_id.
Do not use when: you can search meanwhile: what is counted is found already.
Returns at most: one job, 4,000 tokens.
If you need more, call: this again.
Defaults: waits up to 10 seconds for the end. Max: 15."""
JOB_STATUS = Operation(
    "job_status",
    JobStatus,
    show_job,
    in_scripts=False,
    tool=_job_tool(
        title="Show a job",
        description=_JOB_STATUS_DESCRIPTION,
    ),
)
_JOB_CANCEL_DESCRIPTION = """\
End an ingest after its current batch; what it wrote stays in the index.
Use when: the user no longer wants it, or it is the wrong folder.
Do not use when: it has ended: nothing is undone.
Returns at most: one job, 4,000 tokens.
If you need more, call: job_status; ingest_from_source again goes on where it ended.
Defaults: waits for the end. Max: 5 seconds."""
JOB_CANCEL = Operation(
    "job_cancel",
    JobCancel,
    cancel_job,
    in_scripts=False,
    tool=_job_tool(
        title="Cancel a job",
        description=_JOB_CANCEL_DESCRIPTION,
        read_only=False,
        is_offered=may_write,
    ),
)
