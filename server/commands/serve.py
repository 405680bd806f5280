"""``winnow serve``: MCP clients on stdio or HTTP."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from server.commands.serving.http_flags import AllowAddress, HostName, TlsCert, TlsKey, TrustedProxy
from server.commands.terminal.flags import GroupedCommand, with_settings
from server.commands.terminal.output import command, report_errors
from server.errors import WinnowError
from server.settings import Configuration, Settings, load

if TYPE_CHECKING:
    from server.app import Application
    from server.transports.access.http_access import HttpOptions
    from server.transports.statistics import StatisticsSocket

app = command()

_EXIT_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@app.command(
    cls=GroupedCommand,
    epilog="Examples: winnow serve | winnow serve --project handbook --environment prod | "
    "winnow serve --http 127.0.0.1:8765 | winnow serve --http 0.0.0.0:8765 --tls-cert chain.pem --tls-key key.pem "
    "--host-name winnow.example.com",
)
@with_settings
def serve(
    flags: Mapping[str, Any],
    http: Annotated[
        str | None,
        typer.Option(
            "--http",
            metavar="HOST:PORT",
            help="serve HTTP instead of stdio; beyond loopback with keys and TLS only (winnow key)",
            show_default=False,
        ),
    ] = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    trusted_proxy: TrustedProxy = None,
    host_name: HostName = None,
    allow_address: AllowAddress = None,
) -> None:
    """Serve MCP clients; stdio unless --http is given."""
    with report_errors(as_json=False):
        configuration = load(flags)
        check_projects(configuration)
        options = None
        if http is not None:
            from server.transports.access.http_access import Certificate, HttpOptions

            options = HttpOptions(
                Certificate(tls_cert, tls_key), host_name or (), trusted_proxy or (), allow_address or ()
            )
        elif tls_cert or tls_key or trusted_proxy or host_name or allow_address:
            raise WinnowError(
                "INVALID_REQUEST",
                "--tls-cert, --tls-key, --trusted-proxy, --host-name and --allow-address are for HTTP; add --http "
                "HOST:PORT",
            )
        asyncio.run(serve_settings(configuration.settings, http, options))


def check_projects(configuration: Configuration) -> None:
    """Raise ``WinnowError`` if a flag or variable names a project that the operator's file does not allow."""
    project = configuration.settings.project
    if configuration.wider and project not in configuration.wider:
        raise WinnowError(
            "INVALID_REQUEST",
            f"settings: project {project!r} (from {configuration.source_of('project')}) is not among the projects "
            f"in reach: {', '.join(configuration.wider)}; name one of them, or give --projects as well",
        )


async def serve_settings(settings: Settings, http: str | None, options: HttpOptions | None = None) -> None:
    """Serve MCP clients with these settings: on stdio, or on the address ``http`` (HOST:PORT)."""
    with _pause_garbage_collector():
        from server.app import open_application
        from server.runtime.logs import set_up_logs
        from server.transports.dispatch import Dispatcher
        from server.transports.protocol import build_server
        from server.transports.statistics import StatisticsSocket

    set_up_logs()
    listeners = None
    if http is not None:
        from server.transports.access.http_access import HttpOptions
        from server.transports.addresses import listen, parse_address
        from server.transports.connections import allow_open_files

        allow_open_files()
        options = options or HttpOptions()
        host, port = parse_address(http)
        rules = options.access(host, settings.store, settings.reachable), options.certificate
        listeners = listen(host, port)  # a port in use is an error before anything starts
    async with (
        open_application(settings, wait_for_model=False, starts_engine=True) as application,
        StatisticsSocket(application, "stdio" if http is None else "http") as watch,
    ):
        server = build_server(Dispatcher(application.context, settings), application)
        # Each transport imports its own libraries; a desktop host needs only those of stdio.
        if listeners is None:
            from server.transports.stdio import serve_stdio

            _exit_on_signals(application, watch)
            await serve_stdio(server)
        else:
            from server.transports.http import serve_http

            await serve_http(server, listeners, application.health, *rules)


def _exit_on_signals(application: Application, watch: StatisticsSocket) -> None:
    """Close and exit on Ctrl-C or SIGTERM: the thread that reads stdin cannot be interrupted to end the loop."""
    loop = asyncio.get_running_loop()

    async def close_and_exit(number: int) -> NoReturn:
        try:
            await watch.close()
            await application.close()
        finally:
            os._exit(128 + number)

    def on_signal(number: int) -> None:
        closing.append(loop.create_task(close_and_exit(number)))
        for handled in _EXIT_SIGNALS:
            loop.remove_signal_handler(handled)

    closing: list[asyncio.Task[NoReturn]] = []  # the loop itself keeps tasks by weak references only
    for number in _EXIT_SIGNALS:
        loop.add_signal_handler(number, on_signal, number)


@contextmanager
def _pause_garbage_collector() -> Iterator[None]:
    """Turn garbage collection off during imports: it costs a tenth of the start, and frees nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
