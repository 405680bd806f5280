"""``winnow cite``: citations on the shell, of what a query finds, of a citekey, or of a document."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, get_args
from urllib.parse import unquote

import typer

from winnow.server.commands.terminal.links import add_urls
from winnow.server.commands.terminal.operation import knowledge_of
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
from winnow.server.models import CitationStyle
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.matching import fold_label
from winnow.server.text.printable import one_line

app = command()
_STYLE_HELP = f"how to cite: {', '.join(get_args(CitationStyle))} (default: as the project does)"

_EPILOG = """
Documents get citekeys from a bibliography: winnow ingest papers/ --references library.bib

""" + examples(
    'winnow cite "how are retries configured"',
    'winnow cite "galvanic circuit" --style apa --limit 3',
    "winnow cite --key ohm1827 --style bibtex",
    "winnow cite --document papers/ohm.pdf --style csl-json --json",
)


@app.command(epilog=_EPILOG)
def cite(
    query: Annotated[
        str, typer.Argument(help="what to look for: the best passages are cited", show_default=False)
    ] = "",
    key: Annotated[
        list[str] | None, typer.Option("--key", metavar="CITEKEY", help="cite this work; may repeat")
    ] = None,
    document: Annotated[
        list[str] | None, typer.Option("--document", metavar="FILE", help="cite this document; may repeat")
    ] = None,
    style: Annotated[
        CitationStyle | None,
        typer.Option("--style", metavar="STYLE", help=_STYLE_HELP, show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", help="how many passages a query cites, 1 to 100")] = 10,
    store: StoreOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
) -> None:
    """Cite passages, works and documents: a citation each, and an entry for each work."""
    with report_errors(as_json=as_json):
        if not (query or key or document):
            raise WinnowError("INVALID_REQUEST", "name what to cite: a query, --key CITEKEY or --document FILE")
        settings = load_settings(store=store, project=project)
        answer = asyncio.run(_cite(settings, query, limit, key or [], document or [], style))
        if as_json:
            print_json(answer)
            return
        warnings = answer.pop("warnings")
        cited = zip(answer["citations"], answer["places"], answer["urls"], strict=True)
        for citation, place, url in cited:
            # Without a citekey there is no citation, and the address names the file that the place is.
            is_named = not citation and url is not None and unquote(url).endswith(f"/{place}")
            line = "" if is_named else "  ".join(filter(None, (citation, place)))
            print_lines(*filter(None, (line, url)))
        if answer["entries"]:
            print_lines("", *(line for entry in answer["entries"] for line in entry.split("\n")))
        print_to_stderr(*(f"warning: {warning}" for warning in warnings))


async def _cite(
    settings: Settings, query: str, limit: int, keys: list[str], documents: list[str], style: CitationStyle | None
) -> dict[str, Any]:
    warnings: list[str] = []

    async with knowledge_of(settings) as kb:
        caller = kb.caller("shell")

        async def ask(operation: str, **arguments: Any) -> dict[str, Any]:
            answer = await kb.call(operation, arguments, caller)
            warnings.extend(answer.warnings)
            return answer.payload

        rows = [{"id": name} for name in documents]
        if keys:
            listed = await ask(
                "kb.documents", where={"citekey": [key.removeprefix("@") for key in keys]}, limit=1_000
            )
            _check_keys(keys, listed["results"])
            rows += [{"id": row["document_id"]} for row in listed["results"]]
        if query:
            found = await ask("semantic_search", query=query, top_k=limit)
            rows += found["results"]
        if not rows:
            return {
                "citations": [],
                "entries": [],
                "citekeys": [],
                "uncited": [],
                "places": [],
                "urls": [],
                "warnings": warnings,
            }
        chosen = {"style": style} if style else {}
        cited = [{name: row[name] for name in ("id", "page_span") if name in row} for row in rows]
        answer = await ask("kb.cite", rows=cited, **chosen)
        add_urls(settings, rows, "id")
        return {**answer, "urls": [row.get("url") for row in rows], "warnings": warnings}


def _check_keys(keys: Sequence[str], documents: Sequence[Mapping[str, Any]]) -> None:
    """Raise NOT_FOUND for keys that none of the documents has."""
    known = {fold_label(row["citekey"]) for row in documents if "citekey" in row}
    if missing := [key for key in dict.fromkeys(keys) if fold_label(key.removeprefix("@")) not in known]:
        named = ", ".join(repr(one_line(key, 100)) for key in missing[:5])
        raise WinnowError(
            "NOT_FOUND",
            f"no document has the citekey {named}; those that there are: winnow documents --group-by citekey",
        )
