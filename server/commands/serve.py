"""``winnow serve``: MCP clients on stdio or HTTP."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from winnow.server.commands.serving.http_flags import (
    AllowAddress,
    DenyAddress,
    HostName,
    NoKeys,
    OidcAudience,
    OidcIssuer,
    OidcRules,
    OidcScope,
    TlsCert,
    TlsKey,
    TrustedProxy,
)
from winnow.server.commands.terminal.advice import complete_commands
from winnow.server.commands.terminal.flags import GroupedCommand, with_settings
from winnow.server.commands.terminal.output import command, examples, report_errors
from winnow.server.commands.terminal.stores import require_store
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import Configuration, load
from winnow.server.settings.settings import MIB, Settings, default_store

if TYPE_CHECKING:
    from winnow.server.commands.entry.app import Application
    from winnow.server.commands.entry.statistics import StatisticsSocket
    from winnow.server.transports.access.http_access import HttpOptions

app = command()

_EXIT_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@app.command(
    cls=GroupedCommand,
    epilog=examples(
        "winnow serve",
        "winnow serve --project handbook --environment prod",
        "winnow serve --lsp",
        "winnow serve --http 127.0.0.1:8765",
        "winnow serve --http 0.0.0.0:8765 --tls-cert chain.pem --tls-key key.pem --host-name winnow.example.com",
    ),
)
@with_settings
def serve(
    flags: Mapping[str, Any],
    http: Annotated[
        str | None,
        typer.Option(
            "--http",
            metavar="HOST:PORT",
            help="serve HTTP instead of stdio: MCP at /mcp, beside it /health and /metrics; beyond loopback with "
            "keys or tokens, and TLS (winnow key)",
            show_default=False,
        ),
    ] = None,
    lsp: Annotated[
        bool,
        typer.Option("--lsp", help="serve JSON-RPC with the framing of LSP on stdio instead of MCP"),
    ] = False,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    trusted_proxy: TrustedProxy = None,
    host_name: HostName = None,
    allow_address: AllowAddress = None,
    deny_address: DenyAddress = None,
    no_keys: NoKeys = False,
    oidc_issuer: OidcIssuer = None,
    oidc_audience: OidcAudience = None,
    oidc_scope: OidcScope = None,
    oidc_rules: OidcRules = None,
) -> None:
    """Serve MCP clients on stdio; with --http over HTTP, and tools by POST /mcp/tool/NAME without MCP."""
    with report_errors(as_json=False):
        configuration = load(flags)
        check_projects(configuration)
        options, oidc = None, (oidc_issuer, oidc_audience, oidc_scope, oidc_rules)
        if http is not None and lsp:
            raise WinnowError("INVALID_REQUEST", "--lsp is for stdio; leave out --http, or --lsp")
        if http is not None:
            from winnow.server.transports.access.http_access import Certificate, HttpOptions, IssuerOptions

            options = HttpOptions(
                Certificate(tls_cert, tls_key),
                host_name or (),
                trusted_proxy or (),
                allow_address or (),
                deny_address or (),
                IssuerOptions(oidc_issuer or "", oidc_audience or "", oidc_scope or (), oidc_rules),
                no_keys,
            )
        elif any((tls_cert, tls_key, trusted_proxy, host_name, allow_address, deny_address, no_keys, *oidc)):
            raise WinnowError(
                "INVALID_REQUEST",
                "--tls-cert, --tls-key, --trusted-proxy, --host-name, --allow-address, --deny-address, --no-keys "
                "and --oidc-* are for HTTP; add --http HOST:PORT",
            )
        if configuration.settings.store != default_store():  # a host may be set up before the first ingest
            require_store(configuration.settings.store)
        asyncio.run(serve_settings(configuration.settings, http, options, lsp=lsp))


def check_projects(configuration: Configuration) -> None:
    """Raise ``WinnowError`` if ``project`` is out of reach: of ``projects``, or of an outer source's."""
    project = configuration.settings.project
    in_reach = configuration.wider or configuration.settings.projects
    if in_reach and project not in in_reach:
        advice = (
            "name one of them, or give --projects as well"
            if configuration.wider
            else f"name one of them with --project, or add it: --projects {','.join((project, *in_reach))}"
        )
        raise WinnowError(
            "INVALID_REQUEST",
            f"settings: project {project!r} (from {configuration.source_of('project')}) is not among the projects "
            f"in reach: {', '.join(in_reach)}; {advice}",
        )


async def serve_settings(
    settings: Settings, http: str | None, options: HttpOptions | None = None, *, lsp: bool = False
) -> None:
    """Serve clients with these settings: on stdio, or on the address ``http`` (HOST:PORT).

    ``lsp``: on stdio, the façade in frames of LSP instead of MCP.
    """
    with _pause_garbage_collector():
        from winnow.server.commands.entry.app import open_application
        from winnow.server.commands.entry.statistics import StatisticsSocket
        from winnow.server.runtime.logs import log, set_up_logs
        from winnow.server.runtime.reports.traces import set_up_traces
        from winnow.server.transports.dispatch import Dispatcher
        from winnow.server.transports.protocol import build_server

    # Who reads the log is seldom who set the store: its unit, its host's configuration or its variables did.
    place = {} if settings.store == default_store() else {"--store": str(settings.store)}
    set_up_logs(handler=_open_log_file(settings), reword=lambda text: complete_commands(text, place))
    set_up_traces(settings, "winnow")
    listeners = None
    if http is not None:
        from winnow.server.transports.access.http_access import HttpOptions
        from winnow.server.transports.addresses import listen, parse_address
        from winnow.server.transports.connections import allow_open_files

        allow_open_files()
        options = options or HttpOptions()
        host, port = parse_address(http)
        rules = options.access(host, settings.store, settings.reachable), options.certificate
        listeners = listen(host, port)  # a port in use is an error before anything starts
    async with (
        open_application(settings, wait_for_model=False, starts_engine=True) as application,
        StatisticsSocket(application, "http" if listeners else "lsp" if lsp else "stdio") as watch,
    ):
        if settings.execute_code == "on" and (why_not := application.scripts.why_not):
            log("execute_code is off on this host", level=logging.WARNING, why=why_not)
        # In a thread, so that a client's handshake is answered meanwhile.
        asyncio.get_running_loop().run_in_executor(None, _warn_of_empty_project, settings)
        dispatcher = Dispatcher(application.context, settings)
        application.figures["rates"] = dispatcher.rates
        server = build_server(dispatcher, application)
        # Each transport imports its own libraries; a desktop host needs only those of stdio.
        if listeners is None and lsp:
            from winnow.server.transports.facade.lsp import serve_lsp
            from winnow.server.transports.facade.service import FacadeService

            _exit_on_signals(application, watch)
            await serve_lsp(FacadeService(dispatcher, application), application.drain)
        elif listeners is None:
            from winnow.server.transports.stdio import serve_stdio

            _exit_on_signals(application, watch)
            await serve_stdio(server, application.drain)
        else:
            from winnow.server.commands.serving.announcement import announce
            from winnow.server.transports.facade.service import FacadeService
            from winnow.server.transports.http import serve_http
            from winnow.server.transports.operating.pages import Operations

            operations = Operations(
                application.health,
                application.kb.metrics,
                application.drain,
                application.readiness,
                application.figures,
            )
            announce(settings, listeners, *rules)
            facade = FacadeService(dispatcher, application)
            await serve_http(server, listeners, operations, *rules, settings.drain_seconds, facade)


def _warn_of_empty_project(settings: Settings) -> None:
    from winnow.server.commands.terminal.operation import find_empty_project
    from winnow.server.runtime.logs import log

    with suppress(WinnowError):  # a catalogue that cannot be read is an error of the first call
        if error := find_empty_project(settings):
            log("the project has no documents", level=logging.WARNING, why=error.message)


def _open_log_file(settings: Settings) -> logging.Handler | None:
    """The writer of the log to the file of the settings; None for stderr. Raises ``WinnowError``."""
    if settings.log_file is None:
        return None
    from winnow.server.runtime.reports.log_files import SharedLogFile

    try:
        return SharedLogFile(settings.log_file, int(settings.log_mb * MIB), settings.log_files)
    except OSError as error:
        raise WinnowError(
            "INVALID_REQUEST",
            f"log_file: {settings.log_file} cannot be written ({error.strerror}); name a file of your own",
        ) from None


def _exit_on_signals(application: Application, watch: StatisticsSocket) -> None:
    """Exit on Ctrl-C and SIGTERM: the thread that reads stdin cannot be interrupted to end the loop.

    The first SIGTERM lets requests in progress be answered.
    """
    loop = asyncio.get_running_loop()

    async def close_and_exit(code: int) -> NoReturn:
        try:
            await watch.close()
            await application.close()
        finally:
            os._exit(code)

    async def drain_and_exit() -> NoReturn:
        await application.drain.finish(application.settings.drain_seconds)
        await close_and_exit(0)

    def on_signal(number: int) -> None:
        if number == signal.SIGTERM and not application.drain.is_draining:
            application.drain.begin()
            closing.append(loop.create_task(drain_and_exit()))
            return
        closing.append(loop.create_task(close_and_exit(128 + number)))
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
