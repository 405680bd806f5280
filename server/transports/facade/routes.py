"""The façade over HTTP: routes beside ``/mcp``, behind the same checks of hosts, keys and addresses.

A body must say that it is JSON. A page of another site can send other bodies without asking; with this type a
browser asks first, and no answer of this server lets it.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, NoReturn

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from winnow.server.errors import WinnowError
from winnow.server.operations.answers.budget import dumps
from winnow.server.runtime.reports.traces import continued, span
from winnow.server.runtime.sessions.identities import unproven_name
from winnow.server.text.printable import one_line
from winnow.server.transports.addresses import group_of
from winnow.server.transports.facade.discovery import MAX_INPUT_BYTES, SHORT_ROUTES
from winnow.server.transports.facade.envelope import Envelope, refuse
from winnow.server.transports.facade.notebooks import NotebookRoute, arguments_of, by_path, choose, plain
from winnow.server.transports.facade.openapi import describe_api
from winnow.server.transports.facade.problems import Refusal, problem_of_error, problem_of_status, refusal
from winnow.server.transports.facade.service import FacadeClient, FacadeService, Invocation, too_large
from winnow.server.transports.operating.draining import REFUSAL
from winnow.server.transports.sessions import KEY_NAME

_JSON = "application/json"
_LARGEST_MAJOR_CHARS = 6
_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}

_Answering = Callable[[FacadeClient, Request], Awaitable[Any]]


def facade_routes(facade: FacadeService) -> list[Route]:
    """The routes of the façade."""

    async def discover(client: FacadeClient, request: Request) -> Any:
        return await facade.discover(client)

    async def prompt(client: FacadeClient, request: Request) -> Any:
        domain, name, major = (request.path_params[part] for part in ("domain", "name", "major"))
        return await facade.prompt(client, domain, name, _parse_major(major), _read_query(request))

    async def schema(client: FacadeClient, request: Request) -> Any:
        tool, version, kind = (request.path_params[part] for part in ("tool", "version", "kind"))
        return await facade.schema(client, tool, version, kind)

    async def openapi(client: FacadeClient, request: Request) -> Any:
        return describe_api(await facade.tools(client))

    async def call(client: FacadeClient, request: Request) -> Any:
        return await invoke(client, request, request.path_params["name"], await _read_json(request))

    def call_of(tool: str) -> _Answering:
        async def call_short(client: FacadeClient, request: Request) -> Any:
            return await invoke(client, request, tool, await _read_json(request), from_any_pack=True)

        return call_short

    def notebook(rows: Sequence[NotebookRoute]) -> _Answering:
        async def answer(client: FacadeClient, request: Request) -> Any:
            query = {name: request.query_params.getlist(name) for name in request.query_params}
            row = choose(rows, query)
            body = await _read_json(request, row.max_bytes) if row.has_body else None
            arguments = arguments_of(row, request.path_params, query, body)
            return plain(row, await invoke(client, request, row.tool, arguments, max_bytes=row.max_bytes))

        return answer

    async def invoke(
        client: FacadeClient,
        request: Request,
        tool: str,
        input: Any,
        *,
        from_any_pack: bool = False,
        max_bytes: int = MAX_INPUT_BYTES,
    ) -> Envelope:
        invocation = Invocation(
            tool,
            input,
            keys=tuple(request.headers.getlist("idempotency-key")),
            is_fresh="no-cache" in request.headers.get("cache-control", ""),
            from_any_pack=from_any_pack,
            max_bytes=max_bytes,
        )
        answering = facade.invoke(client, invocation)
        # A client that sends a key may come back for the result.
        return await (answering if invocation.keys else _while_connected(request, answering))

    def route(path: str, answering: _Answering, method: str = "GET") -> Route:
        return Route(path, _endpoint(facade, answering, f"{method} {path}"), methods=[method])

    return [
        route("/mcp/discover", discover),
        route("/mcp/prompt/{domain}/{name}/{major}", prompt),
        route("/mcp/schema/{tool}/{version}/{kind}.json", schema),
        route("/mcp/tool/{name}", call, "POST"),
        *(route(f"/v1/{name}", call_of(tool), "POST") for name, tool in SHORT_ROUTES.items()),
        *(route(rows[0].path, notebook(rows), rows[0].method) for rows in by_path()),
        route("/openapi.json", openapi),
    ]


def _endpoint(facade: FacadeService, answering: _Answering, name: str) -> Callable[[Request], Awaitable[Response]]:
    """A route that answers with a plain document, or with an envelope: of a tool, or of an error.

    Its span has this name, and continues the trace that the header ``traceparent`` names.
    """

    async def answer(request: Request) -> Response:
        client = _client_of(request)

        async def in_envelope() -> Envelope:
            found = await answering(client, request)
            return found if isinstance(found, Envelope) else Envelope(found, {})

        with continued(request.headers), span("request", "server", method=name):
            envelope = await facade.answer(in_envelope(), client, request.path_params.get("name", "")[:100])
        if envelope.problem is not None:
            request.scope[REFUSAL] = envelope.problem.details["reason"]
        is_plain = envelope.problem is None and not envelope.meta
        return _respond(envelope.data if is_plain else envelope.as_json(), envelope.status, envelope.headers)

    return answer


async def answer_refused(request: Request, error: Exception) -> Response:
    """The envelope for a route that is not there, and for a method that a route does not take."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = (error.headers if isinstance(error, HTTPException) else None) or {}
    reason = "METHOD" if status == 405 else "NOT_FOUND"
    message = (
        f"this route takes {headers.get('Allow', 'other methods')}"
        if status == 405
        else "no such route; GET /mcp/discover lists the tools, and GET /openapi.json the routes that call them"
    )
    return _respond(refuse(refusal(reason, message).problem).as_json(), status, headers)


def describe_refusal(path: str, status: int, message: str) -> Mapping[str, Any]:
    """The body of an answer with which a request was refused before it reached its route."""
    if is_of_facade(path):
        return refuse(problem_of_status(status, message)).as_json()
    return {"error": {"status": status, "message": message}}


def describe_error(path: str, error: WinnowError) -> Mapping[str, Any]:
    """The body of an answer to a request that met this error before it reached its route."""
    return refuse(problem_of_error(error)).as_json() if is_of_facade(path) else {"error": error.envelope()}


def is_of_facade(path: str) -> bool:
    """Whether answers at this path are in the envelope of the façade."""
    return path.startswith(("/mcp/", "/v1/", "/notebooks/")) or path == "/openapi.json"


def _respond(body: Any, status: int, headers: Mapping[str, str]) -> Response:
    text = dumps(body).encode("utf-8", "replace")
    return Response(text, status, {**_HEADERS, **headers}, media_type=_JSON)


def _client_of(request: Request) -> FacadeClient:
    """The client: its key, or a client of its own for each request, as one that returns no token over MCP."""
    name = request.scope.get(KEY_NAME) or unproven_name(secrets.token_hex(16))
    return FacadeClient(str(name), group_of(request.client.host) if request.client else "")


def _parse_major(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _LARGEST_MAJOR_CHARS):
        raise refusal("NOT_FOUND", "a version of a prompt is a number, such as 1; discovery lists them")
    return int(text)


def _read_query(request: Request) -> dict[str, str]:
    """The arguments in the query string, each once. Raises ``Refusal``."""
    query = {name: request.query_params.getlist(name) for name in request.query_params}
    if repeated := [name for name, values in query.items() if len(values) > 1]:
        raise refusal("INVALID_REQUEST", f"{one_line(repeated[0], 40)} is given twice; give each argument once")
    return {name: value for name, (value,) in query.items()}


async def _read_json(request: Request, most: int = MAX_INPUT_BYTES) -> Any:
    """The JSON value of the body. Raises ``Refusal`` for another type, too many bytes, and what is not JSON."""
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    if kind.strip().lower() != _JSON or parameters.replace(" ", "").lower() not in ("", "charset=utf-8"):
        raise refusal("MEDIA_TYPE", "the body is JSON in UTF-8: send the header 'Content-Type: application/json'")
    try:
        return json.loads(await _read_body(request, most), parse_constant=_refuse_constant)
    except ClientDisconnect:
        raise refusal("CLIENT_LEFT", "the client has closed the connection") from None
    except (ValueError, RecursionError):
        raise refusal(
            "INVALID_REQUEST", 'the body is not JSON in UTF-8; send an object, such as {"query": "…"}'
        ) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


async def _read_body(request: Request, most: int) -> str:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            stated = request.headers.get("content-length", "")
            size = int(stated) if stated.isascii() and stated.isdecimal() and len(stated) < 16 else len(body)
            raise Refusal(too_large(size, most))
    return body.decode("utf-8")


async def _while_connected(request: Request, answering: Coroutine[Any, Any, Envelope]) -> Envelope:
    """The envelope, unless the client leaves before it is there: then the call ends."""
    call, left = asyncio.ensure_future(answering), asyncio.ensure_future(_until_left(request))
    try:
        await asyncio.wait((call, left), return_when=asyncio.FIRST_COMPLETED)
        if not call.done():
            raise refusal("CLIENT_LEFT", "the client has closed the connection")
        return call.result()
    finally:
        for task in (call, left):
            task.cancel()
        await asyncio.gather(call, left, return_exceptions=True)


async def _until_left(request: Request) -> None:
    """Wait until the client has left; what it still sends is let go."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
