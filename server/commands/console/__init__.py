"""``winnow console``: pages about a store, for a person at a browser on this machine."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winnow.server.commands.terminal.flags import GroupedCommand, with_settings
from winnow.server.commands.terminal.output import command, examples, print_lines, report_errors
from winnow.server.commands.terminal.stores import require_index
from winnow.server.settings.loading import Configuration, load

if TYPE_CHECKING:
    from winnow.server.console.desk import OpenApplication
    from winnow.server.settings.settings import Settings

app = command()

_HOST = "127.0.0.1"
# Read by a browser of this user alone. Its address is no secret; that of the console, on a command line, would be
# shown to every user of the machine.
_LEADS_ON = '<!doctype html><meta http-equiv="refresh" content="0;url={0}"><a href="{0}">To the console</a>\n'


@app.command(
    cls=GroupedCommand,
    epilog=examples(
        "winnow console",
        "winnow console --project handbook --no-browser",
        "winnow console --port 8800 --tools all,claims",
    ),
)
@with_settings
def console(
    flags: Mapping[str, Any],
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65_535, help="port on 127.0.0.1; 0: any that is free")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="open the browser, or only print the address")
    ] = True,
) -> None:
    """Look at a store in the browser: searches as agents see them, documents, scripts, claims, settings.

    The printed address works once, for one browser. The pages show and change nothing, and load nothing from
    elsewhere. The console ends with Ctrl-C. Flags of settings are those of winnow serve: give those of your
    server, to see what its agents see.
    """
    with report_errors(as_json=False):
        configuration = load(flags)
        require_index(configuration.settings.store)
        asyncio.run(_serve(configuration, port, opens_browser=browser))


async def _serve(configuration: Configuration, port: int, *, opens_browser: bool) -> None:
    from winnow.server.commands.console.reports import make_reports
    from winnow.server.console.desk import Desk
    from winnow.server.console.web import build_console
    from winnow.server.runtime.logs import set_up_logs
    from winnow.server.transports.addresses import listen
    from winnow.server.transports.http import web_server

    set_up_logs(level=logging.WARNING)
    settings = configuration.settings
    desk = Desk(settings, _opening(settings))
    sockets = listen(_HOST, port, "--port")
    with closing(sockets[0]) as listening:
        web = build_console(desk, make_reports(configuration), listening.getsockname()[1])
        print_lines(f"console: {web.address}", "It works once, for one browser. Ctrl-C ends the console.")
        with _leading_on(web.address) if opens_browser else nullcontext():
            server = web_server(web)
            _end_with_terminal(lambda: server.handle_exit(signal.SIGTERM, None))
            await server.serve([listening])


def _end_with_terminal(end: Callable[[], None]) -> None:
    """Have the console end in the usual way, and remove its file, when its terminal is closed."""
    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, end)


def _opening(settings: Settings) -> OpenApplication:
    """The function that opens an application: over the engine of the store, as servers do, without watching."""
    from winnow.server.commands.entry.app import open_application
    from winnow.server.engine.sharing import shares_engine

    quiet = settings.model_copy(update={"watch": "off"})
    return lambda: open_application(quiet, wait_for_model=True, starts_engine=shares_engine(settings))


@contextmanager
def _leading_on(address: str) -> Iterator[None]:
    """Open the browser by a private file that leads to the address, which is removed at the end."""
    from winnow.server.commands.terminal.browser import has_screen, start_browser

    if not has_screen():
        yield
        return
    with tempfile.TemporaryDirectory(prefix="winnow-console-") as folder:
        page = Path(folder, "console.html")
        page.write_text(_LEADS_ON.format(escape(address)), "utf-8")
        start_browser(page.as_uri())
        yield
