"""``winnow open``: the page that a citation is about, with the quote marked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.server.commands.terminal.browser import open_address
from winnow.server.commands.terminal.operation import knowledge_of, print_answer
from winnow.server.commands.terminal.output import (
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    print_json,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.errors import WinnowError
from winnow.server.ids import is_chunk_id
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import one_line

if TYPE_CHECKING:
    from winnow.server.operations.knowledge import Answer, Knowledge

app = command()
# A citation: "[@ohm1827, guide.pdf, p. 33 (file page 45)]", "[guide.pdf, p. 33]", or parts of it, with brackets or
# without; a link: "guide.pdf#page=45".
_LINKED = re.compile(r"(?P<document>.{1,1000})#page=(?P<page>[0-9]{1,9})\Z")
_PLACED = re.compile(
    r"(?P<rest>.{1,1000}?), ?(?P<page>(?:pp?\. ?|(?:file )?pages? |slides? )[^,]{1,80}(?:\([^()]{1,40}\))?)\Z"
)
_KEYED = re.compile(r"-?@\{?(?P<key>[^\s,{}]{1,200})\}?(?:, ?(?P<document>.{1,1000}))?\Z")


@app.command(
    epilog=examples(
        "winnow open guide/backups.md --quote 'kept for ninety days'",
        "winnow open report.pdf --page 12",
        'winnow open "[@ohm1827, p. 33]" --quote "a galvanic circuit" --launch',
        "winnow open 'report.pdf#page=12' --png page.png",
    ),
)
def open_page(
    citation: Annotated[
        str,
        typer.Argument(help="a citation, a link with #page=N, the id of a passage, or a document"),
    ],
    page: Annotated[
        str | None,
        typer.Option(
            "--page", metavar="N", help='its number in the file, or as printed: "p. iv"', show_default=False
        ),
    ] = None,
    quote: Annotated[
        str | None, typer.Option("--quote", metavar="TEXT", help="the words to mark", show_default=False)
    ] = None,
    png: Annotated[
        Path | None,
        typer.Option("--png", metavar="FILE", help="write the page of a PDF as a picture", show_default=False),
    ] = None,
    launch: Annotated[
        bool, typer.Option("--launch", help="open the picture of a PDF page, or the file, in its program")
    ] = False,
    store: StoreOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
) -> None:
    """Show the cited page: of a PDF its address and a picture with the quote marked, of a text its lines."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project)
        answer = asyncio.run(_show(settings, citation, page, quote, has_image=png is not None))
        payload = {**answer.payload, **({"url": answer.file_url} if answer.file_url else {})}
        if png is not None:
            _write_picture(png, answer)
            payload["png"] = str(png)
        if as_json:
            print_json({**payload, "warnings": list(answer.warnings)})
        else:
            _print(payload)
            print_to_stderr(*(f"warning: {warning}" for warning in answer.warnings))
        if launch:
            _launch(png.absolute().as_uri() if png is not None else answer.file_url)


def _print(payload: Mapping[str, Any]) -> None:
    from winnow.server.operations.corpus.showing import render_shown

    print_answer(render_shown(dict(payload)), payload)
    if "png" in payload:
        print_lines(f"picture: {payload['png']}")


async def _show(
    settings: Settings, citation: str, page: str | None, quote: str | None, *, has_image: bool
) -> Answer:
    async with knowledge_of(settings) as kb:
        named = await read_citation(kb, citation)
        asked = {**named, "page": page or named.get("page"), "quote": quote, "image": has_image}
        return await kb.call(
            "kb.show", {name: value for name, value in asked.items() if value is not None}, kb.caller("shell")
        )


async def read_citation(kb: Knowledge, citation: str) -> dict[str, Any]:
    """The arguments of ``kb.show`` that a citation stands for."""
    text = citation.strip()
    if is_chunk_id(text):
        return {"passage_id": text}
    if linked := _LINKED.match(text):
        return {"document": linked["document"], "page": linked["page"]}
    if text.startswith("[") and text.endswith("]") and (_KEYED.match(text[1:-1]) or _PLACED.match(text[1:-1])):
        text = text[1:-1]
    placed = _PLACED.match(text)
    text, page = (placed["rest"], placed["page"]) if placed else (text, None)
    keyed = _KEYED.match(text)
    if keyed is None:
        return {"document": text, "page": page}
    return {"document": keyed["document"] or await _find_work(kb, keyed["key"]), "page": page}


async def _find_work(kb: Knowledge, key: str) -> str:
    """The id of the document with this citekey. Raises NOT_FOUND for none, INVALID_REQUEST for several."""
    answer = await kb.call("kb.documents", {"where": {"citekey": key}, "limit": 2}, kb.caller("shell"))
    rows = answer.payload["results"]
    if len(rows) == 1:
        return str(rows[0]["document_id"])
    named = repr(one_line(key, 100))
    if rows:
        files = " and ".join(row["file"] for row in rows)
        raise WinnowError(
            "INVALID_REQUEST", f"several documents have the citekey {named}: {files}; name one of them"
        )
    raise WinnowError(
        "NOT_FOUND",
        f"no document has the citekey {named}; those that there are: winnow documents --group-by citekey",
    )


def _write_picture(path: Path, answer: Answer) -> None:
    if not answer.images:
        raise WinnowError(
            "UNSUPPORTED", f"--png: {answer.payload['file']} is no PDF, so that no page of it is drawn"
        )
    try:
        path.write_bytes(answer.images[0].data)
    except OSError as error:
        raise WinnowError("INVALID_REQUEST", f"--png: {path} cannot be written: {error.strerror}") from None


def _launch(address: str) -> None:
    """Open an address with the program of the system for it."""
    if not address:
        raise WinnowError("UNSUPPORTED", "--launch: this document has no file on this machine")
    open_address(address, "--launch")
