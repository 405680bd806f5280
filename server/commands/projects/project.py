"""``winnow project``: create, show, change and list projects, each with settings of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from winnow.server.commands.projects import archives, removal
from winnow.server.commands.projects.common import (
    ProjectArgument,
    collect_figures,
    facts_of,
    find_project,
    format_change,
    format_value,
    open_catalogue,
    print_project,
)
from winnow.server.commands.terminal.output import (
    Json,
    StoreOption,
    command,
    complete,
    examples,
    print_json,
    print_lines,
    report_errors,
)
from winnow.server.commands.terminal.reading_options import DocTag, EnvironmentLabel, Repository
from winnow.server.errors import WinnowError
from winnow.server.models import CitationStyle
from winnow.server.settings.loading import load_settings
from winnow.server.settings.project_settings import Fusion, ProjectSettings, check_name, make_settings
from winnow.server.settings.value_types import EMBEDDER_NAME
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.models import ProjectInfo

app = command(
    no_args_is_help=True,
    help="Create, show, change, rename and delete projects. A project has documents and settings of its own.",
    epilog=examples(
        "winnow project create papers --doc-tag paper", "winnow project list", "winnow project show papers"
    ),
)
app.add_typer(removal.app)
app.add_typer(archives.app)

_SETTINGS = """
A project's settings hold in every server and command of the store. --top-k, --max-chars and --citation-style are
for the research tools; --fusion and --hybrid for all searches; the labels and --language for ingests into it,
where a flag of winnow ingest counts more. With --embedder, an ingest with another model is refused; what is stored
is the model's identity, so the model must be installed.
"""
_LABELS = ("doc_tag", "environment", "repository")
_ALL = "all"
# Names of flags that differ from those of their settings.
_BY_FLAG: Mapping[str, str] = MappingProxyType({"max-chars": "max_chars_per_chunk", "language": "languages"})
TopK = Annotated[
    int | None,
    typer.Option("--top-k", metavar="N", help="most results of a research query, 1 to 100", show_default=False),
]
MaxChars = Annotated[
    int | None,
    typer.Option(
        "--max-chars",
        metavar="N",
        help="most characters of a passage in a research query, 200 to 20,000",
        show_default=False,
    ),
]
FusionOption = Annotated[
    Fusion | None, typer.Option("--fusion", help="how both legs are combined", show_default=False)
]
Hybrid = Annotated[
    bool | None,
    typer.Option(
        "--hybrid/--no-hybrid", help="search by meaning and words, or by meaning alone", show_default=False
    ),
]
EmbedderIdentity = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="MODEL",
        help="the only model that its vectors may come from: minilm, bge-small, multilingual, fastembed:MODEL, "
        "onnx:FOLDER, openai:URL#MODEL, or an identity (winnow model show)",
        show_default=False,
    ),
]
Languages = Annotated[
    list[str] | None,
    typer.Option(
        "--language", metavar="CODE", help="language for OCR, such as en; may repeat", show_default=False
    ),
]
Citations = Annotated[
    CitationStyle | None,
    typer.Option(
        "--citation-style",
        metavar="STYLE",
        help=f"form of citations: {', '.join(get_args(CitationStyle))}",
        show_default=False,
    ),
]


@app.command(
    epilog=f"{_SETTINGS}\n"
    + examples(
        "winnow project create papers --doc-tag paper --language de --language en",
        "winnow project create team/notes --no-hybrid",
    )
)
def create(
    name: ProjectArgument,
    top_k: TopK = None,
    max_chars: MaxChars = None,
    fusion: FusionOption = None,
    hybrid: Hybrid = None,
    embedder: EmbedderIdentity = None,
    doc_tag: DocTag = "",
    environment: EnvironmentLabel = None,
    repository: Repository = "",
    languages: Languages = None,
    citation_style: Citations = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Create a project, empty; its settings can be given at once."""
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path
    from winnow.server.projects.removal import require_free_name
    from winnow.server.storage.files.store_folder import prepare_store

    labels = {"doc_tag": doc_tag or None, "environment": environment, "repository": repository or None}
    with report_errors(as_json=as_json):
        settings = load_settings(store=store)
        identity = _find_identity(embedder)
        given = _given(top_k, max_chars, fusion, hybrid, identity, languages, citation_style)
        made = _with_changes(ProjectSettings(), given, labels)
        check_name(name)
        prepare_store(settings.store)
        with closing(Catalogue(catalogue_path(settings))) as catalogue:
            require_free_name(catalogue, name)
            catalogue.save_project_settings(name, made)
            figures = collect_figures(settings, catalogue, name)
    print_project(
        figures, as_json=as_json, first=complete(f"created; ingest into it: winnow ingest PATH --project {name}")
    )


@app.command(
    name="set",
    epilog=f"{_SETTINGS}\n"
    + examples(
        "winnow project set papers --top-k 10 --citation-style apa",
        "winnow project set papers --reset fusion",
        "winnow project set papers --reset all",
    ),
)
def change(
    name: ProjectArgument,
    top_k: TopK = None,
    max_chars: MaxChars = None,
    fusion: FusionOption = None,
    hybrid: Hybrid = None,
    embedder: EmbedderIdentity = None,
    doc_tag: DocTag = "",
    environment: EnvironmentLabel = None,
    repository: Repository = "",
    languages: Languages = None,
    citation_style: Citations = None,
    reset: Annotated[
        list[str] | None,
        typer.Option("--reset", metavar="SETTING", help="give this setting its default first, or all; may repeat"),
    ] = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Change settings of a project."""
    labels = {"doc_tag": doc_tag or None, "environment": environment, "repository": repository or None}
    with report_errors(as_json=as_json), open_catalogue(store) as opened:
        find_project(opened.catalogue, name)
        identity = _find_identity(embedder)
        given = _given(top_k, max_chars, fusion, hybrid, identity, languages, citation_style)
        if not (reset or given or any(labels.values())):
            raise WinnowError(
                "INVALID_REQUEST", f"name a setting to change: winnow project set {name} --top-k 10 (see --help)"
            )
        made = _with_changes(_reset(opened.catalogue, name, reset or ()), given, labels)
        _check_embedder(opened.catalogue, name, made.embedder)
        opened.catalogue.save_project_settings(name, made)
        figures = collect_figures(opened.settings, opened.catalogue, name)
    print_project(figures, as_json=as_json)


@app.command(epilog=examples("winnow project show papers", "winnow project show team/notes --json"))
def show(name: ProjectArgument, store: StoreOption = None, as_json: Json = False) -> None:
    """Show a project: its settings, what it holds, and where that came from."""
    with report_errors(as_json=as_json), open_catalogue(store) as opened:
        figures = collect_figures(opened.settings, opened.catalogue, name)
    print_project(figures, as_json=as_json)


@app.command(name="list", epilog=examples("winnow project list", "winnow project list --json"))
def list_projects(store: StoreOption = None, as_json: Json = False) -> None:
    """List the projects of the store: those that were created or hold documents."""
    with report_errors(as_json=as_json), open_catalogue(store) as opened:
        rows = [_summary(info, opened.catalogue) for info in opened.catalogue.existing_projects()]
        hidden = [asdict(one) for one in opened.catalogue.hidden_projects().values()]
        place = str(opened.settings.store)
    if as_json:
        print_json({"store": place, "projects": rows, "hidden": hidden})
        return
    print_lines(
        *map(_format_summary, rows) if rows else [complete("there are no projects: winnow project create NAME")]
    )
    print_lines(*map(_format_hidden, hidden))


def _given(
    top_k: int | None,
    max_chars: int | None,
    fusion: str | None,
    hybrid: bool | None,
    embedder: str | None,
    languages: Sequence[str] | None,
    citation_style: str | None,
) -> dict[str, object]:
    """The settings that flags name, without the labels."""
    values = {
        "top_k": top_k,
        "max_chars_per_chunk": max_chars,
        "fusion": fusion,
        "hybrid": hybrid,
        "embedder": embedder,
        "languages": tuple(languages) if languages else None,
        "citation_style": citation_style,
    }
    return {name: value for name, value in values.items() if value is not None}


def _find_identity(embedder: str | None) -> str | None:
    """The identity of the model that ``--embedder`` names, or states itself.

    Raises ``WinnowError``: "MODEL_UNAVAILABLE" for a model that is not here, "INVALID_REQUEST" for another text.
    """
    if not embedder or ("/" in embedder and not EMBEDDER_NAME.fullmatch(embedder)):
        return embedder
    from winnow.server.backends.models.embedders import load_embedder

    return load_embedder(load_settings(embedder=embedder)).fingerprint


def _with_changes(
    before: ProjectSettings, given: Mapping[str, object], labels: Mapping[str, str | None]
) -> ProjectSettings:
    fields: dict[str, Any] = before.model_dump()
    fields["labels"] |= {name: label for name, label in labels.items() if label is not None}
    return make_settings(fields | dict(given))


def _reset(catalogue: Catalogue, name: str, reset: Sequence[str]) -> ProjectSettings:
    """The settings of the project, those in ``reset`` with their defaults; "all" does not read the stored ones."""
    known = (_ALL, *ProjectSettings.model_fields, *_LABELS)
    named = [_BY_FLAG.get(setting, setting.replace("-", "_")) for setting in reset]
    if unknown := [given for given, setting in zip(reset, named, strict=True) if setting not in known]:
        raise WinnowError("INVALID_REQUEST", f"--reset {unknown[0]!r}: the settings are {', '.join(known)}")
    if _ALL in named:
        return ProjectSettings()
    before = catalogue.project_settings(name).model_dump()
    labels = {label: value for label, value in before["labels"].items() if label not in named}
    return make_settings({key: value for key, value in {**before, "labels": labels}.items() if key not in named})


def _check_embedder(catalogue: Catalogue, name: str, embedder: str) -> None:
    """Raise ``WinnowError("EMBEDDING_MISMATCH")`` if the project holds vectors of another model."""
    held = catalogue.embedding(name)
    if embedder and held not in ("", embedder):
        raise WinnowError(
            "EMBEDDING_MISMATCH",
            f"project {name!r} holds vectors of {held}; give that as --embedder, or change the store first: "
            "winnow reindex --embedder MODEL",
            details={"project": name, "indexed_with": held, "bound_to": embedder},
        )


def _summary(info: ProjectInfo, catalogue: Catalogue) -> dict[str, Any]:
    return {**facts_of(info), "settings": catalogue.project_settings(info.name).model_dump(mode="json")}


def _format_summary(row: Mapping[str, Any]) -> str:
    own = ", ".join(_changed_settings(row["settings"]))
    return (
        f"{row['name']}: {count_of(row['documents'], 'document')}, "
        f"{count_of(row['passages'], 'passage')}, {format_change(row)}"
        f"{f'; {own}' if own else ''}"
    )


def _format_hidden(row: Mapping[str, Any]) -> str:
    advice = f"; to restore it: winnow project restore {row['name']}" if row["state"] == "deleted" else ""
    return f"({row['name']}: {row['state']}, {count_of(row['documents'], 'document')}{advice})"


def _changed_settings(settings: Mapping[str, Any]) -> Iterator[str]:
    """The settings that are not the default, in words."""
    defaults = ProjectSettings().model_dump(mode="json")
    for name, value in settings.items():
        if value != defaults[name]:
            yield f"{name} {format_value(value)}"
