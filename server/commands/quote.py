"""``winnow quote``: the sentences that answer a question, on the shell."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from winnow.server.bibliographies.locators import cite_place
from winnow.server.commands.terminal.operation import run_operation
from winnow.server.commands.terminal.output import (
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    report_errors,
)
from winnow.server.settings.loading import load_settings
from winnow.server.text.framing import frame_text
from winnow.server.text.sizes import count_of
from winnow.server.text.verdict_line import render_verdict

app = command()


@app.command(
    epilog=examples('winnow quote "how long are backups kept"', 'winnow quote "retry limits" --quotes 3 --json'),
)
def quote(
    question: Annotated[str, typer.Argument(help="what you want to know")],
    quotes: Annotated[int, typer.Option("--quotes", help="how many quotes, 1 to 20")] = 6,
    passages: Annotated[int, typer.Option("--passages", help="how many passages to quote from, 1 to 20")] = 5,
    evidence: Annotated[
        Literal["lexical", "dense"] | None,
        typer.Option("--evidence", help="how quotes are scored (default: the setting)", show_default=False),
    ] = None,
    store: StoreOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
) -> None:
    """Quote the sentences that answer a question, with where they stand: kb_retrieve_evidence on the shell."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store, project=project, evidence=evidence)
        arguments = {"question": question, "max_quotes": quotes, "top_k": passages}
        linked = ("quotes", "section_id")
        run_operation(settings, "kb.retrieve_evidence", arguments, _format_answer, as_json=as_json, linked=linked)


def _format_answer(payload: dict[str, Any]) -> list[str]:
    """Quotes and their titles. Ids are left out: they belong to an agent's session."""
    diagnostics = payload["diagnostics"]
    lines = [
        render_verdict(payload),
        f"{count_of(len(payload['quotes']), 'quote')} from "
        f"{count_of(diagnostics['passages'], 'passage')} ({diagnostics['search_mode']})",
    ]
    for number, row in enumerate(payload["quotes"], start=1):
        title = " ".join(filter(None, (row["title"], cite_place(row))))
        place = f"{number}. {title} ({row['confidence']:.0%} of the question's words)"
        lines += ["", place, *([row["url"]] if "url" in row else []), *frame_text(row["quote"])]
    return lines
