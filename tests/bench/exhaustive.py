"""Tasks that need every document: records how they are solved through an MCP client, and scores the answers.

    python -m tests.bench.exhaustive prepare --work DIR --documents COLLECTION

There is no model in this program. Its user, a person or an agent, sees what ``tools`` and ``call`` print: the same
that a client shows to a model. ``serve`` holds a client for each corpus; calls and answers are recorded in the
folder, and ``score`` compares the answers with what plain Python finds in the files.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from mcp import Client
from mcp.types import TextContent

from tests.bench.exhaustive_score import Call, score_tasks, summarize
from tests.bench.exhaustive_tasks import TASKS, CorpusName, Task
from winnow.server.commands.bench.tokens import index_collection
from winnow.server.commands.demonstration.client import connect_server, wait_for_model
from winnow.server.commands.terminal.output import Json, command, print_json, print_lines, report_errors
from winnow.server.commands.token_benchmark.collection import TaskCollection
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.text.words.tokens import count_tokens

EXAMPLES = """\
Examples: python -m tests.bench.exhaustive prepare --work /tmp/tasks --documents ~/collections/k8s_docs |
python -m tests.bench.exhaustive serve --work /tmp/tasks |
python -m tests.bench.exhaustive call --work /tmp/tasks --task list-pdb --code list.py"""
CORPORA: tuple[CorpusName, ...] = get_args(CorpusName)
_LARGEST_LINE = 16 * 1024 * 1024

Work = Annotated[Path, typer.Option("--work", metavar="DIR", help="the folder of indexes, socket and records")]
TaskId = Annotated[str, typer.Option("--task", metavar="ID", help="a task, as `tasks` lists it")]
CodeFile = Annotated[Path | None, typer.Option("--code", metavar="FILE", help="a script for execute_code")]
app = command(epilog=EXAMPLES)


@app.command()
def prepare(
    work: Work, documents: Annotated[Path, typer.Option("--documents", metavar="DIR", help="the folder k8s_docs")]
) -> None:
    """Index the two corpora."""
    with report_errors(as_json=False):
        work.mkdir(parents=True, exist_ok=True)
        (work / "documents").write_text(str(documents.resolve()), encoding="utf-8")
        for collection in _collections(work).values():
            index_collection(collection, load_settings(store=work / collection.name, project=collection.project))


@app.command()
def tasks() -> None:
    """List the tasks: what a user asks, and the form of the answer."""
    for task in TASKS:
        print_lines(f"{task.id} ({task.corpus})", f"  {task.question}", f"  Answer: {task.shape}")


@app.command()
def serve(work: Work) -> None:
    """Connect a client to a server of each corpus, and pass calls to them until interrupted."""
    asyncio.run(_serve(work))


@app.command()
def tools(work: Work, corpus: Annotated[str, typer.Option("--corpus", metavar="NAME")] = CORPORA[0]) -> None:
    """Print what a client learns of the server: instructions, and the list of tools."""
    print_lines(_request(work, {"corpus": corpus})["text"])


@app.command()
def call(
    work: Work,
    task: TaskId,
    code: CodeFile = None,
    tool: Annotated[str, typer.Option("--tool", metavar="NAME")] = "execute_code",
    arguments: Annotated[str, typer.Option("--arguments", metavar="JSON")] = "{}",
) -> None:
    """Call a tool for a task, and print the text that a model would read."""
    given = json.loads(arguments) | ({"code": code.read_text(encoding="utf-8")} if code else {})
    reply = _request(work, {"corpus": _find_task(task).corpus, "tool": tool, "arguments": given})
    _record(work / "calls.jsonl", {"task": task, "tool": tool, "arguments": given, **reply})
    print_lines(reply["text"])


@app.command()
def answer(work: Work, task: TaskId, file: Path) -> None:
    """Record the final answer of a task, a file of JSON; the last one counts."""
    _record(work / "answers.jsonl", {"task": _find_task(task).id, "answer": json.loads(file.read_text("utf-8"))})


@app.command()
def score(work: Work, as_json: Json = False) -> None:
    """Compare the recorded answers with the truth."""
    calls = [
        Call(row["task"], row["tool"], row["failed"], count_tokens(row["text"]))
        for row in _rows(work / "calls.jsonl")
    ]
    answers = {row["task"]: row["answer"] for row in _rows(work / "answers.jsonl")}
    corpora = {name: collection.sources for name, collection in _collections(work).items()}
    scores = score_tasks(TASKS, corpora, calls, answers)
    figures = {**summarize(scores), "scores": [{**asdict(each), "usable": each.usable} for each in scores]}
    if as_json:
        print_json(figures)
        return
    print_lines(
        *(
            f"{each.task:<22} first script {each.first_ran!s:<5} complete {each.complete:.3f} correct "
            f"{each.correct:.3f} calls {each.calls} tokens {each.tokens}"
            for each in scores
        ),
        *(f"{name}: {value}" for name, value in figures.items() if name != "scores"),
    )


def _collections(work: Path) -> Mapping[CorpusName, TaskCollection]:
    folder = Path((work / "documents").read_text(encoding="utf-8"))
    return {"k8s_docs": TaskCollection("k8s_docs", folder), "stdlib": TaskCollection("stdlib")}


def _find_task(name: str) -> Task:
    found = next((task for task in TASKS if task.id == name), None)
    if found is None:
        raise WinnowError("NOT_FOUND", f"no task {name!r}; `tasks` lists them")
    return found


def _record(file: Path, row: Mapping[str, Any]) -> None:
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row) + "\n")


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


# --- the process that holds the clients


async def _serve(work: Path) -> None:
    async with AsyncExitStack() as stack:
        clients: dict[str, Client] = {}
        for name, collection in _collections(work).items():
            connection = connect_server(work / name, collection.project, work / f"{name}.log")
            clients[name] = await stack.enter_async_context(connection)
            await wait_for_model(clients[name])
        (work / "socket").unlink(missing_ok=True)
        server = await asyncio.start_unix_server(
            lambda reader, writer: _answer_request(clients, reader, writer), work / "socket", limit=_LARGEST_LINE
        )
        print_lines("ready")
        await server.serve_forever()


async def _answer_request(
    clients: Mapping[str, Client], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    request = json.loads(await reader.readline())
    client = clients[request["corpus"]]
    reply = await (_call(client, request) if "tool" in request else _describe(client))
    writer.write(json.dumps(reply).encode() + b"\n")
    await writer.drain()
    writer.close()


async def _call(client: Client, request: Mapping[str, Any]) -> dict[str, Any]:
    reply = await client.call_tool(request["tool"], request["arguments"])
    text = "\n".join(block.text for block in reply.content if isinstance(block, TextContent))
    structured = reply.structured_content if isinstance(reply.structured_content, dict) else {}
    failed = bool(reply.is_error) or structured.get("status", "ok") != "ok"
    return {"text": text, "failed": failed}


async def _describe(client: Client) -> dict[str, Any]:
    parts = [client.instructions or ""]
    for tool in (await client.list_tools()).tools:
        parts.append(f"# {tool.name}\n{tool.description}\n{json.dumps(tool.input_schema)}")
    return {"text": "\n\n".join(parts)}


def _request(work: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(work / "socket"))
        connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile("rb") as lines:
            reply: dict[str, Any] = json.loads(lines.readline())
    return reply


if __name__ == "__main__":
    app(prog_name="python -m tests.bench.exhaustive")
