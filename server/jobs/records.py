"""The records of jobs, as their files hold them: what was asked for, the state, the progress and the result."""

from __future__ import annotations

import secrets
import time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from winnow.server.ingest.selection.request import StoredRequest
from winnow.server.models import PROJECT_NAME

JOB_ID = r"^job_[0-9a-f]{32}$"
MAX_WARNINGS, WARNING_CHARS, NAME_CHARS = 30, 300, 500
MAX_LANGUAGES = 10

JobState = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
# States that a job does not leave.
FINAL = frozenset({"done", "failed", "cancelled", "interrupted"})

_Count = Annotated[int, Field(ge=0, le=10**15)]
_Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
_Text = Annotated[str, Field(max_length=2_000)]
_PathText = Annotated[str, Field(min_length=1, max_length=4_096, pattern=r"^/[^\x00-\x1f\x7f]*$")]
_Project = Annotated[str, Field(pattern=PROJECT_NAME)]


class _Record(BaseModel):
    # Models are built on first use: a server that answers a handshake imports them, and may never need them.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, hide_input_in_errors=True)


class JobRequest(_Record):
    """The request of an agent, and what the operator's settings allowed at that time.

    The path of ``ingest``, resolved, is at or below ``root``, one of the operator's ``ingest_roots``, and its
    bibliography at or below ``references_root``; ``root`` is "zotero" for libraries of Zotero. ``languages`` are
    those of scanned pages. ``may_rebuild``: vectors of another model may be replaced. ``reads_weaker``: the
    setting ``allow_weaker_reader`` of the server that took the request.
    """

    project: _Project
    ingest: StoredRequest
    root: _PathText | Literal["zotero"]
    languages: Annotated[tuple[Annotated[str, Field(max_length=20)], ...], Field(max_length=MAX_LANGUAGES)] = ()
    references_root: _PathText | None = None
    may_rebuild: bool = False
    reads_weaker: bool = False

    @property
    def source(self) -> str:
        """The file or folder, or "zotero"."""
        return str(self.ingest.paths[0]) if self.ingest.paths else self.root

    @model_validator(mode="before")
    @classmethod
    def _read_former(cls, fields: Any) -> Any:
        """Convert the fields of an earlier version, which had one path, and no object ``ingest``."""
        if not isinstance(fields, dict) or "path" not in fields:
            return fields
        own = {name: value for name, value in fields.items() if name in cls.model_fields}
        former = {name: value for name, value in fields.items() if name not in own and value is not None}
        path = former.pop("path", None)
        paths = [] if path == "zotero" else [path]
        if paths:  # earlier versions wrote an empty list for a job without libraries
            former.pop("linked_below", None)
        else:
            former.setdefault("linked_below", [])
        return {**own, "ingest": {**former, "paths": paths, "uses_ocr": bool(own.get("languages"))}}

    @model_validator(mode="after")
    def _has_one_source(self) -> JobRequest:
        is_from_zotero = self.root == "zotero"
        if bool(self.ingest.zotero) != is_from_zotero or len(self.ingest.paths) != (not is_from_zotero):
            raise ValueError("a job has one path, or libraries of Zotero")
        if is_from_zotero and self.ingest.linked_below is None:
            raise ValueError("a job names the folders below which linked files are read")
        return self


class JobProgress(_Record):
    """The progress of a job. Only documents and passages that are in the index are counted.

    ``documents_total`` is 0 if it is unknown. ``current_file`` is the file that is being read, "" if there is
    none. ``fraction`` is the part of the job that is done, 0 to 1. ``fraction`` and ``seconds_left`` are None if
    unknown.
    """

    documents: _Count = 0
    documents_total: _Count = 0
    passages: _Count = 0
    bytes: _Count = 0
    bytes_total: _Count = 0
    pages: _Count = 0
    current_file: Annotated[str, Field(max_length=NAME_CHARS)] = ""
    fraction: Annotated[float, Field(ge=0, le=1)] | None = None
    seconds_left: _Seconds | None = None


class JobResult(_Record):
    """The result of a job. ``documents_processed`` counts documents that were written or had not changed."""

    chunks_written: _Count
    documents_processed: _Count
    documents_deleted: _Count
    dense_model: Annotated[str, Field(max_length=500)]
    sparse_model: Annotated[str, Field(max_length=100)]
    duration_seconds: _Seconds
    warnings: Annotated[tuple[_Text, ...], Field(max_length=MAX_WARNINGS + 1)] = ()


class JobFailure(_Record):
    """The failure of a job: a reason of ``server.errors``, and a message that says what to do."""

    reason: Annotated[str, Field(max_length=40)]
    message: _Text


class Job(_Record):
    """A job. Times are seconds since 1970, 0 for an event that has not happened.

    ``starts`` counts the runs that began and wrote nothing, so that a file which kills every process that reads it
    is not tried for ever. ``note`` says why a job waits, or how to continue.
    """

    id: Annotated[str, Field(pattern=JOB_ID)]
    request: JobRequest
    state: JobState = "queued"
    created_at: _Seconds = 0.0
    started_at: _Seconds = 0.0
    ended_at: _Seconds = 0.0
    starts: Annotated[int, Field(ge=0, le=100)] = 0
    progress: JobProgress = JobProgress()
    result: JobResult | None = None
    failure: JobFailure | None = None
    note: _Text = ""

    @property
    def is_final(self) -> bool:
        """Whether the job has ended."""
        return self.state in FINAL

    @property
    def order(self) -> tuple[float, str]:
        """The sort key of the queue."""
        return self.created_at, self.id


def new_job(request: JobRequest) -> Job:
    """A queued job. Its id cannot be guessed, because a caller who knows the id may ask about the job."""
    return Job(id=f"job_{secrets.token_hex(16)}", request=request, created_at=time.time())
