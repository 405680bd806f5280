"""``winnow serve``: MCP clients on stdio or HTTP."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from server.commands.output import Allowed, Embedder, Engine, Project, Store, command, errors_shown
from server.settings import Settings, load_settings

if TYPE_CHECKING:
    from server.app import Application

app = command()

_LEAVE_ON = (signal.SIGINT, signal.SIGTERM)


@app.command(
    epilog="Examples: winnow serve | winnow serve --project handbook --environment prod | "
    "winnow serve --http 127.0.0.1:8765",
)
def serve(
    http: Annotated[
        str | None, typer.Option("--http", metavar="HOST:PORT", help="serve HTTP on loopback instead of stdio")
    ] = None,
    store: Store = None,
    project: Project = None,
    embedder: Embedder = None,
    doc_tags: Annotated[
        str | None,
        typer.Option("--doc-tags", metavar="A,B", help="serve only these doc tags", show_default=False),
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option("--environment", metavar="NAME", help="serve only dev, prod or scratch", show_default=False),
    ] = None,
    repositories: Annotated[
        str | None,
        typer.Option("--repositories", metavar="A,B", help="serve only these repositories", show_default=False),
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(
            help="all (default) or code: execute_code, kb_retrieve_evidence and help", show_default=False
        ),
    ] = None,
    tool_names: Annotated[
        str | None,
        typer.Option(help="underscore (default) or dotted: how tool names are listed", show_default=False),
    ] = None,
    content: Annotated[
        str | None,
        typer.Option(help="dense (default) or summary: the text beside the structure", show_default=False),
    ] = None,
    structured_output_enabled: Annotated[
        bool | None,
        typer.Option(
            "--structured-output-enabled/--no-structured-output-enabled",
            help="answer with structure, or (to roll back) with minified JSON text alone",
            show_default=False,
        ),
    ] = None,
    resource_links: Annotated[
        str | None,
        typer.Option(help="on (default) or off: link passages beside the results", show_default=False),
    ] = None,
    kb_v2_enabled: Annotated[
        bool | None,
        typer.Option(
            "--kb-v2-enabled/--no-kb-v2-enabled",
            help="list the kb_* tools, or (to roll back) the legacy tools instead",
            show_default=False,
        ),
    ] = None,
    legacy_tools: Annotated[
        bool | None,
        typer.Option(
            "--legacy-tools/--no-legacy-tools",
            help="list search_sections and get_section_text as well",
            show_default=False,
        ),
    ] = None,
    evidence: Annotated[
        str | None,
        typer.Option(help="lexical (default) or dense: how quotes are scored", show_default=False),
    ] = None,
    scratch_mb: Annotated[
        int | None, typer.Option(help="memory for the passages that sessions hold", show_default=False)
    ] = None,
    scratch_minutes: Annotated[
        float | None, typer.Option(help="how long a session's passage is held", show_default=False)
    ] = None,
    execute_code: Annotated[
        bool | None, typer.Option("--execute-code/--no-execute-code", help="offer scripts", show_default=False)
    ] = None,
    sandbox: Engine = None,
    limits: Allowed = None,
    allow_weaker_sandbox: Annotated[
        list[str] | None,
        typer.Option("--allow-weaker-sandbox", metavar="WALL", help="accept that exactly these walls are missing"),
    ] = None,
    daemon: Annotated[
        bool | None,
        typer.Option(
            "--daemon/--no-daemon",
            help="share one engine process with other servers of the store (default), or hold it alone",
            show_default=False,
        ),
    ] = None,
    log_queries: Annotated[
        bool | None, typer.Option("--log-queries", help="log queries and scripts in full")
    ] = None,
) -> None:
    """Serve MCP clients; stdio unless --http is given."""
    with errors_shown(as_json=False):
        settings = load_settings(
            store=store,
            project=project,
            embedder=embedder,
            doc_tags=doc_tags,
            environment=environment,
            repositories=repositories,
            tools=tools,
            tool_names=tool_names,
            content=content,
            structured_output_enabled=structured_output_enabled,
            resource_links=resource_links,
            kb_v2_enabled=kb_v2_enabled,
            legacy_tools=legacy_tools,
            evidence=evidence,
            scratch_mb=scratch_mb,
            scratch_minutes=scratch_minutes,
            execute_code=_switch(execute_code),
            sandbox=sandbox,
            limits=limits,
            allow_weaker_sandbox=tuple(allow_weaker_sandbox) if allow_weaker_sandbox else None,
            daemon=_switch(daemon),
            log_queries=log_queries,
        )
        asyncio.run(_serve(settings, http))


def _switch(flag: bool | None) -> Literal["on", "off"] | None:
    return None if flag is None else "on" if flag else "off"


async def _serve(settings: Settings, http: str | None) -> None:
    with _collector_paused():
        from server.app import running
        from server.logs import set_up_logs
        from server.transports.dispatch import Dispatcher
        from server.transports.protocol import build_server

    set_up_logs()
    async with running(settings, wait_for_model=False, starts_engine=True) as application:
        server = build_server(Dispatcher(application.context, settings), application)
        # Each transport brings its own libraries; a desktop host waits for stdio only.
        if http is None:
            from server.transports.stdio import serve_stdio

            _leave_on_signals(application)
            await serve_stdio(server)
        else:
            from server.transports.http import parse_address, serve_http

            await serve_http(server, *parse_address(http), health=application.health)


def _leave_on_signals(application: Application) -> None:
    """Close and exit on Ctrl-C or SIGTERM: the thread that waits for stdin cannot be woken to end the loop."""
    loop = asyncio.get_running_loop()

    async def leave(number: int) -> NoReturn:
        try:
            await application.close()
        finally:
            os._exit(128 + number)

    def on_signal(number: int) -> None:
        leaving.append(loop.create_task(leave(number)))
        for handled in _LEAVE_ON:
            loop.remove_signal_handler(handled)

    leaving: list[asyncio.Task[NoReturn]] = []  # the loop itself keeps tasks by weak references only
    for number in _LEAVE_ON:
        loop.add_signal_handler(number, on_signal, number)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Imports make objects that live for ever; looking for garbage among them takes a tenth of the start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
