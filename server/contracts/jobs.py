"""``ingest_from_source``, ``job_status`` and ``job_cancel``: ingests that agents ask for, and how far they are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import DESCRIBED, WHOLE, Arguments, Label, Meta, Payload

# The state of a job, as in ``server.jobs.records``.
JobStateName = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
MAX_WAIT_SECONDS = 15.0

_Named = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$")]
_JobId = Annotated[str, StringConstraints(min_length=1, max_length=64)]
_Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}([_-][A-Za-z]{2,8})?$", max_length=12)]
_Count = Annotated[int, Field(ge=0, le=10**15)]
_Seconds = Annotated[float, Field(ge=0, le=1e12)]
_Name = Annotated[str, StringConstraints(max_length=500)]
_Text = Annotated[str, StringConstraints(max_length=2_000)]
_Time = Annotated[str, StringConstraints(max_length=20)]


class ZoteroOptions(Arguments):
    """What is taken of Zotero."""

    library: _Named | None = Field(
        default=None, description="name or id (library, groups/123); default: all", json_schema_extra=DESCRIBED
    )
    collections: list[_Named] = Field(
        default_factory=list, max_length=50, description="in any of them or below", json_schema_extra=DESCRIBED
    )
    tags: list[_Named] = Field(
        default_factory=list, max_length=50, description="with all of them", json_schema_extra=DESCRIBED
    )


class IngestOptions(Arguments):
    """Options of ``ingest_from_source``."""

    ocr_languages: list[_Language] = Field(
        default_factory=list,
        max_length=10,
        description="languages of scanned pages; if given, pages without text are read by OCR",
        json_schema_extra=DESCRIBED,
    )
    references_path: Annotated[str, StringConstraints(min_length=1, max_length=2_000)] | None = Field(
        default=None,
        description="bibliography of the documents (BibTeX, RIS, CSL-JSON), a path as in source",
        json_schema_extra=DESCRIBED,
    )
    zotero: ZoteroOptions | None = Field(
        default=None, description="works to take where source is zotero", json_schema_extra=WHOLE
    )
    force_rebuild: bool = Field(
        default=False,
        description="where the project's vectors come from another model: embed the store again with this one",
        json_schema_extra=DESCRIBED,
    )


class IngestFromSource(Arguments):
    """Arguments of ``ingest_from_source``."""

    project: Label = Field(description="a project that exists", json_schema_extra=DESCRIBED)
    source: Annotated[str, StringConstraints(min_length=1, max_length=2_000)] = Field(
        description="file or folder: absolute, or below a folder that the operator allows; or zotero",
        json_schema_extra=DESCRIBED,
    )
    options: IngestOptions = Field(
        default_factory=IngestOptions, description="how files are read", json_schema_extra=WHOLE
    )


class JobStatus(Arguments):
    """Arguments of ``job_status``."""

    job_id: _JobId = Field(description="job_id of ingest_from_source", json_schema_extra=DESCRIBED)
    wait_seconds: float = Field(
        default=10.0,
        ge=0,
        le=MAX_WAIT_SECONDS,
        description="wait so long for its end",
        json_schema_extra=DESCRIBED,
    )


class JobCancel(Arguments):
    """Arguments of ``job_cancel``."""

    job_id: _JobId = Field(description="job_id of ingest_from_source", json_schema_extra=DESCRIBED)


class ProgressRow(Payload):
    """How far a job has come; what is counted is in the index. What is unknown is left out."""

    documents: _Count
    documents_total: _Count | None = None
    passages: _Count
    bytes: _Count
    bytes_total: _Count | None = None
    pages: _Count | None = None
    current_file: _Name | None = None
    fraction: Annotated[float, Field(ge=0, le=1)] | None = None
    seconds_left: _Seconds | None = None


class JobFailureRow(Payload):
    """Why a job failed, as an error of the call would say it."""

    reason: Annotated[str, StringConstraints(max_length=40)]
    message: _Text


class JobAnswer(Payload):
    """Answer of the tools of jobs: the state and the progress of a job, and the result of one that is done.

    ``place`` is its turn: 0 runs. Times are in UTC, as in ISO 8601; at ``changed_at`` its state changed last.
    ``note`` says why it waits or how to go on. ``cancelling``: it ends after its current batch. From
    ``chunks_written`` on the fields are the result.
    """

    job_id: Annotated[str, StringConstraints(max_length=36)]
    state: JobStateName
    project: Annotated[str, StringConstraints(max_length=64)]
    source: Annotated[str, StringConstraints(max_length=4_096)]
    place: _Count | None = None
    cancelling: bool | None = None
    progress: ProgressRow
    created_at: _Time
    changed_at: _Time
    note: _Text | None = None
    failure: JobFailureRow | None = None
    chunks_written: _Count | None = None
    documents_processed: _Count | None = None
    documents_deleted: _Count | None = None
    dense_model: _Name | None = None
    sparse_model: _Name | None = None
    duration_seconds: _Seconds | None = None
    warnings: list[_Text] | None = Field(default=None, max_length=31)
    meta: Meta
