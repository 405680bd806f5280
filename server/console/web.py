"""The web application of the console: its routes, and what stands in front of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from winnow.server.console.access import STATIC, ConsoleAccess, new_root
from winnow.server.console.desk import Desk
from winnow.server.console.pages import PAGES
from winnow.server.console.records import Asked, PageRoute, PageView, Reports
from winnow.server.console.rendering import TEMPLATES, renderer
from winnow.server.errors import WinnowError, internal_error
from winnow.server.runtime.logs import log
from winnow.server.transports.facade.problems import problem_of_error

_STYLE = "console.css"
_Render = Callable[[PageView, str], str]


def build_console(desk: Desk, reports: Reports, port: int) -> ConsoleAccess:
    """The web application for a console at this port; its ``address`` lets one browser in."""
    root = new_root()
    render = renderer(PAGES, desk.settings.project, root)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await desk.aclose()

    application = Starlette(
        routes=[
            *(Route(page.path, _endpoint(page, desk, reports, render)) for page in PAGES),
            Route(f"{STATIC}{_STYLE}", _send_style),
        ],
        lifespan=lifespan,
        exception_handlers={404: partial(_answer_unknown, render=render)},
    )
    application.router.redirect_slashes = False
    return ConsoleAccess(application, port, root, lambda view: render(view, ""))


def _endpoint(
    page: PageRoute, desk: Desk, reports: Reports, render: _Render
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            view = await page.answer(Asked(desk, reports, dict(request.query_params)))
            return HTMLResponse(render(view, page.path), view.status)
        except WinnowError as error:
            return _respond_error(error, render, page.path)
        except Exception:
            log("a page of the console failed", exc_info=True, level=40, path=page.path)
            return _respond_error(internal_error(), render, page.path)

    return answer


def _respond_error(error: WinnowError, render: _Render, path: str) -> Response:
    view = PageView("error.html", "Error", {"reason": error.reason, "message": error.message})
    return HTMLResponse(render(view, path), problem_of_error(error).status)


async def _send_style(request: Request) -> Response:
    return FileResponse(TEMPLATES / _STYLE, media_type="text/css; charset=utf-8")


async def _answer_unknown(request: Request, error: Exception, *, render: _Render) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    view = PageView(
        "error.html", "No such page", {"reason": "NOT_FOUND", "message": "There is no page at this address."}
    )
    return HTMLResponse(render(view, ""), status)
