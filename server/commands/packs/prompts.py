"""``winnow prompt``: list and show prompts, and check a folder of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.server.commands.packs.left_out import left_out_lines, left_out_rows
from winnow.server.commands.terminal.output import Json, command, examples, print_json, print_lines, report_errors
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from winnow.server.tools.prompts.library import PromptLibrary
    from winnow.server.tools.prompts.records import Prompt

app = command(
    no_args_is_help=True,
    help="List and show the prompts that MCP clients are offered, and check a folder of your own.",
    epilog=examples(
        "winnow prompt list",
        "winnow prompt show answer_question",
        "winnow prompt new ~/prompts",
        "winnow prompt check ~/prompts",
        "winnow serve --prompt-packs ~/prompts",
    ),
)

PromptArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="a prompt: NAME, NAME@1, DOMAIN/NAME or DOMAIN/NAME@1")
]
ArgumentsOption = Annotated[
    list[str] | None, typer.Option("--argument", "-a", metavar="NAME=TEXT", help="fill this argument in")
]
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="a folder with REGISTRY.yaml")]
Packs = Annotated[
    list[Path] | None,
    typer.Option("--prompt-packs", metavar="FOLDER", help="folders of prompts; default: the setting prompt_packs"),
]
_SPECIFICATION = """\
title: Ask about a topic
description: Asks what the knowledge base says about a topic.
input:
  type: object
  properties:
    topic: {type: string, description: what to ask about, maxLength: 200, examples: [backups]}
    length: {type: string, description: how long the answer is, enum: [short, long]}
  required: [topic]
"""
_BODY = """\
What does my knowledge base say about {{ topic }}?{% if length %} Give a {{ length }} answer.{% endif %}

Quote each statement with its source.
"""


@app.command(epilog=examples("winnow prompt new ~/prompts", "winnow prompt new ~/prompts --id docs/ask"))
def new(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="a folder without REGISTRY.yaml")],
    id: Annotated[
        str, typer.Option("--id", metavar="DOMAIN/NAME", help="the prompt that it begins with")
    ] = "team/ask",
    as_json: Json = False,
) -> None:
    """Make a folder of prompts with one prompt to change."""
    from winnow.server.tools.prompts.reading import REGISTRY, read_pack

    domain, _, name = id.partition("/")
    files = {
        REGISTRY: f"prompts:\n  - {{id: {id}, versions: [1]}}\n",
        f"packs/{domain}/{name}.spec.yaml": _SPECIFICATION,
        f"packs/{domain}/{name}.v1.md": _BODY,
    }
    with report_errors(as_json=as_json):
        if not re.fullmatch(r"[a-z][a-z0-9_-]{0,39}/[a-z][a-z0-9_-]{0,39}", id) or domain == "winnow":
            raise WinnowError("INVALID_REQUEST", "--id is DOMAIN/NAME in lower-case letters, and not winnow/NAME")
        if (folder / REGISTRY).exists():
            raise WinnowError("INVALID_REQUEST", f"{folder / REGISTRY} is there already; add your prompt to it")
        for path, text in files.items():
            (folder / path).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
    pack = read_pack(folder.absolute())
    if as_json:
        print_json({"files": [str(folder / path) for path in files], "left_out": left_out_rows(pack.left_out)})
        return
    print_lines(*(f"written: {folder / path}" for path in files), *left_out_lines(pack.left_out))
    print_lines(*_say_how_to_offer(folder))


@app.command(
    name="list", epilog=examples("winnow prompt list", "winnow prompt list --prompt-packs ~/prompts --json")
)
def list_prompts(packs: Packs = None, as_json: Json = False) -> None:
    """List the prompts with their arguments, and what was left out."""
    with report_errors(as_json=as_json):
        library = _load(packs)
    if as_json:
        rows = [_row(prompt) for prompt in library.prompts]
        print_json({"prompts": rows, "left_out": left_out_rows(library.left_out)})
        return
    print_lines(*_lines(library.prompts), *left_out_lines(library.left_out))


@app.command(
    epilog=examples(
        "winnow prompt show answer_question",
        "winnow prompt show cited-answer@1 -a 'question=who wrote on piles' --json",
    )
)
def show(
    name: PromptArgument, arguments: ArgumentsOption = None, packs: Packs = None, as_json: Json = False
) -> None:
    """Show a prompt: what it takes and its template, or with arguments its text."""
    from winnow.server.tools.table import TOOLS

    tools = {tool.name.replace(".", "_") for tool in TOOLS}
    with report_errors(as_json=as_json):
        library = _load(packs)
        prompt = library.find(name, tools)
        text = library.fill(prompt, _parse(arguments), tools) if arguments else prompt.body
    if as_json:
        print_json({**_row(prompt), "text" if arguments else "body": text})
    elif arguments:
        print_lines(*text.splitlines())
    else:
        print_lines(*_lines([prompt]), "", *prompt.body.splitlines())


@app.command(epilog=examples("winnow prompt check ~/prompts", "winnow prompt check ~/prompts --json"))
def check(folder: Folder, as_json: Json = False) -> None:
    """Check a folder of prompts: exit status 1 where one would not be offered."""
    from winnow.server.tools.prompts.reading import read_pack

    pack = read_pack(folder.absolute())
    if as_json:
        rows = [_row(prompt) for prompt in pack.prompts]
        print_json({"prompts": rows, "left_out": left_out_rows(pack.left_out), "notes": list(pack.notes)})
    else:
        print_lines(*_lines(pack.prompts), *left_out_lines(pack.left_out), *(f"note: {one}" for one in pack.notes))
        print_lines(*_say_how_to_offer(folder) if pack.prompts else ())
    if pack.left_out:
        raise typer.Exit(1)


def _load(packs: Sequence[Path] | None) -> PromptLibrary:
    from winnow.server.tools.prompts.library import load_prompts

    return load_prompts([path.absolute() for path in packs] if packs else load_settings().prompt_packs)


def _say_how_to_offer(folder: Path) -> list[str]:
    """The folders that offer these prompts; nothing where the settings do."""
    if folder.absolute() in [path.absolute() for path in load_settings().prompt_packs]:
        return []
    return [f"to offer them: winnow serve --prompt-packs {folder}, or prompt_packs in your settings file"]


def _parse(arguments: Sequence[str] | None) -> dict[str, str]:
    pairs = [argument.partition("=") for argument in arguments or ()]
    if wrong := [name for name, sign, _ in pairs if not sign]:
        raise WinnowError("INVALID_REQUEST", f"--argument takes NAME=TEXT, not {wrong[0][:80]!r}")
    return {name: text for name, _, text in pairs}


def _row(prompt: Prompt) -> dict[str, Any]:
    return {
        "name": prompt.listed_name,
        "id": prompt.id,
        "major": prompt.major,
        "uri": prompt.uri,
        "title": prompt.title,
        "description": prompt.description,
        "needs": list(prompt.needs),
        "deprecated": prompt.deprecated,
        "input_schema": prompt.input_schema(),
    }


def _lines(prompts: Sequence[Prompt]) -> list[str]:
    width = max((len(prompt.listed_name) for prompt in prompts), default=0)
    return [line for prompt in prompts for line in _describe(prompt, width)]


def _describe(prompt: Prompt, width: int) -> list[str]:
    deprecated = f" (deprecated: {prompt.deprecated})" if prompt.deprecated else ""
    indent = " " * (width + 2)
    return [
        f"{prompt.listed_name:<{width}}  {prompt.description}{deprecated}",
        *(f"{indent}{each.name}: {each.asks} ({each.bounds})" for each in prompt.arguments),
    ]
