"""Options of commands that read files into the index: default labels, hidden text, OCR, ignore files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from winnow.server.models import Environment

DocTag = Annotated[
    str, typer.Option("--doc-tag", metavar="TAG", help="doc tag where a document states none", show_default=False)
]
EnvironmentLabel = Annotated[
    Environment | None,
    typer.Option("--environment", help="environment where a document states none", show_default=False),
]
Repository = Annotated[
    str,
    typer.Option(
        "--repository", metavar="NAME", help="repository where a document states none", show_default=False
    ),
]
ForceLabels = Annotated[
    bool, typer.Option("--force-labels", help="the labels given here replace those that documents state")
]
Hidden = Annotated[
    Literal["keep", "drop"],
    typer.Option("--hidden", help="text that a person does not see in PDF and office files"),
]
ReferencesOption = Annotated[
    Path | None,
    typer.Option(
        "--references",
        metavar="FILE",
        help="a bibliography (.bib, .ris, CSL-JSON) whose entries these files are",
        show_default=False,
    ),
]
Ocr = Annotated[bool, typer.Option("--ocr", help="read pages that are images, and images, by OCR")]
NoIgnore = Annotated[bool, typer.Option("--no-ignore", help="also read what .gitignore and .winnowignore name")]

Libraries = Annotated[
    list[str] | None,
    typer.Option("--library", metavar="NAME|ID", help="a library of Zotero; may repeat; default: all"),
]
Collections = Annotated[
    list[str] | None,
    typer.Option("--collection", metavar="NAME", help="only works in this collection or below; may repeat"),
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="only works with this tag; may repeat")
]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data-folder",
        metavar="DIR",
        help="Zotero's data folder; default: that of your profile",
        show_default=False,
    ),
]
ZoteroApi = Annotated[
    str | None,
    typer.Option("--api", metavar="URL", help="address of Zotero's local API", show_default=False),
]
NoApi = Annotated[bool, typer.Option("--no-api", help="read Zotero's database, also while Zotero runs")]
