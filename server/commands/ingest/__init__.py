"""``winnow ingest``: index files and collections, with a progress bar; an interrupted run can be resumed."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from winnow.server.commands.ingest.addresses import refuse_addresses
from winnow.server.commands.ingest.by_engine import run_ingest
from winnow.server.commands.ingest.explanation import print_explanation
from winnow.server.commands.ingest.repairing import repair_store
from winnow.server.commands.ingest.report import print_report
from winnow.server.commands.terminal.output import (
    FAILED,
    EmbedderOption,
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    print_to_stderr,
    report_errors,
)
from winnow.server.commands.terminal.progress import INTERRUPTED
from winnow.server.commands.terminal.reading_options import (
    DocTag,
    EnvironmentLabel,
    ForceLabels,
    Hidden,
    NoIgnore,
    Ocr,
    ReferencesOption,
    Repository,
)
from winnow.server.errors import WinnowError
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.settings.loading import load_settings

app = command()

# Files that are given by --references; collections of other data end in .json too.
_BIBLIOGRAPHIES = frozenset({".bib", ".bibtex", ".biblatex", ".ris"})
_LABEL_CHARS = 200  # the longest label that a request may name
_PASSWORDS_CHARS, _MOST_PASSWORDS = 100_000, 100  # each is tried on each encrypted file

_EPILOG = """
Reads PDF, Word, presentations, workbooks, EPUB, mail, notebooks, subtitles, images (with --ocr), Markdown, text,
HTML, reStructuredText, manual pages, source code, and collections (.jsonl with _id, title, text and metadata in
each line). Run it again at any time: only what changed is read, what was deleted leaves the index, and after
Ctrl-C or a crash it resumes.

PDF, office files and the like are parsed behind the walls that scripts run behind. Text that a person does not
see (white, tiny, off the page) is left out, unless --hidden keep. --ocr reads images, and pages that are images.
Both hold for this run: give them again when you ingest again; only what was read of images stays without --ocr.
On a host that refuses namespaces, or has no Landlock, they are read behind the other walls, and the report names
that tier. Where too few stand, such files are named in the report, not read; --allow-weaker-reader reads them in a
process that limits only its memory and time: a harmful file could then read, change and send all that you can. It
holds for this run, so files that change are read again only with it. winnow doctor says what stands and how to get
the rest.

Documents state doc_tag, environment and repository in their front matter or a record's metadata. --doc-tag,
--environment and --repository are for those that state none, in this run: give them again when you ingest again.
With --force-labels they are for all documents: what a document claims in their place does not count. Use it for
documents whose authors must not decide who finds them.

--references reads a bibliography (BibTeX, RIS, CSL-JSON): each file that belongs to an entry gets its citekey,
authors, year, DOI and tags; entries without a file are indexed by title and abstract. Files are matched by the
path of the attachment, the DOI on their first pages, or title and year; what does not match is listed. It holds
for this run: give it again when you ingest again.

What .gitignore and .winnowignore name is left out; --no-ignore reads it. Documents below a folder that is empty
or not there are kept, because its disk may not be mounted: --allow-deletions deletes them.

Web pages are not fetched. Fetch a site first: wget --mirror --no-parent --adjust-extension --convert-links
--directory-prefix=site https://example.org/docs/ and then: winnow ingest site/

Exit code: 0 when something is in the index, even if some files failed (they are listed); 1 when nothing could
be read; 2 for usage; 4 when the index is held by another process or cannot be opened.

""" + examples(
    "winnow ingest docs/",
    "winnow ingest handbook.md notes/ --project team",
    "winnow ingest corpus.jsonl --json",
    "winnow ingest papers/ --references library.bib",
    "winnow ingest runbooks/ --environment prod --repository acme/infrastructure",
    "winnow ingest --explain scan.pdf",
)


@app.command(epilog=_EPILOG)
def ingest(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH...", help="files and folders", show_default=False)
    ] = None,
    project: ProjectOption = None,
    doc_tag: DocTag = "",
    environment: EnvironmentLabel = None,
    repository: Repository = "",
    force_labels: ForceLabels = False,
    no_ignore: NoIgnore = False,
    allow_deletions: Annotated[
        bool, typer.Option("--allow-deletions", help="delete what is gone, also below a folder that is empty")
    ] = False,
    hidden: Hidden = "drop",
    password_file: Annotated[
        Path | None,
        typer.Option(
            "--password-file",
            metavar="FILE",
            help="passwords of encrypted files, one in a line",
            show_default=False,
        ),
    ] = None,
    ocr: Ocr = False,
    allow_weaker_reader: Annotated[
        bool,
        typer.Option("--allow-weaker-reader", help="read such files even where no tier of walls stands"),
    ] = False,
    references: ReferencesOption = None,
    explain: Annotated[
        Path | None,
        typer.Option(
            "--explain",
            metavar="FILE",
            help="only show how this file is read and split; the index stays as it is",
            show_default=False,
        ),
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="first rename damaged files of the store and rebuild them")
    ] = False,
    embedder: EmbedderOption = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Put files and folders into the index."""
    with report_errors(as_json=as_json):
        request = IngestRequest(
            paths=tuple(path.absolute() for path in paths or ()),
            **check_labels(doc_tag, environment, repository, forced=force_labels),
            ignore_files=not no_ignore,
            keeps_hidden=hidden == "keep",
            uses_ocr=ocr,
            references=references and references.resolve(),
            passwords=_read_passwords(password_file),
            allow_deletions=allow_deletions,
        )
        weaker = {"allow_weaker_reader": True} if allow_weaker_reader else {}
        settings = load_settings(store=store, project=project, embedder=embedder, **weaker)
        if explain is not None:
            is_read = print_explanation(
                explain, request.options, allows_weaker=settings.allow_weaker_reader, as_json=as_json
            )
            raise typer.Exit(0 if is_read else FAILED)
        _check_given(paths or [], references)
        try:
            mended = repair_store(settings) if repair else ()
            report = run_ingest(settings, request)
            report = replace(report, warnings=mended + report.warnings)
        except KeyboardInterrupt:
            print_to_stderr("", "stopped; finished documents are kept, run the same command again to resume")
            raise typer.Exit(INTERRUPTED) from None
        print_report(report, settings, as_json=as_json)
    if (report.failures or report.images_skipped) and not report.documents + report.unchanged:
        raise typer.Exit(FAILED)


def _check_given(paths: list[Path], references: Path | None) -> None:
    """Raise ``WinnowError`` where there are no paths to ingest, or one cannot be ingested."""
    if not paths and references is None:
        raise WinnowError("INVALID_REQUEST", "name files or folders to ingest: winnow ingest PATH...")
    refuse_addresses(paths)
    if bibliography := next((path for path in paths if path.suffix.lower() in _BIBLIOGRAPHIES), None):
        raise WinnowError(
            "INVALID_REQUEST",
            f"{bibliography} is a bibliography; its entries are indexed, with its folder of files or without, by: "
            f"winnow ingest FOLDER --references {shlex.quote(str(bibliography))}",
        )


def _read_passwords(path: Path | None) -> tuple[str, ...]:
    """The passwords in a file, one in a line."""
    if path is None:
        return ()
    try:
        with path.open(encoding="utf-8") as file:
            lines = file.read(_PASSWORDS_CHARS).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise WinnowError("INVALID_REQUEST", f"--password-file: {path} cannot be read: {why}") from None
    return tuple(dict.fromkeys(line for line in lines if line))[:_MOST_PASSWORDS]


def check_labels(doc_tag: str, environment: str | None, repository: str, *, forced: bool) -> dict[str, Any]:
    """The labels of a request, cleaned. Raises ``WinnowError`` for one that no scope can name, and for none."""
    labels: dict[str, Any] = {
        "doc_tag": _check_label("--doc-tag", doc_tag),
        "environment": environment or "",
        "repository": _check_label("--repository", repository),
    }
    if forced and not any(labels.values()):
        raise WinnowError(
            "INVALID_REQUEST", "--force-labels needs --doc-tag, --environment or --repository, which it forces"
        )
    return {**labels, "forced": forced}


def _check_label(flag: str, text: str) -> str:
    from winnow.server.readers.documents import clean_text

    label = clean_text(text).strip()
    if len(label) > _LABEL_CHARS:
        raise WinnowError("INVALID_REQUEST", f"{flag}: at most {_LABEL_CHARS} characters, or no scope can name it")
    return label
