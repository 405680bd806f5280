# surface: held
# A key begins as many sessions as a server may have, or keeps as many event streams open as the proxy that all
# clients share may have connections: other clients find no place.
import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings

from winnow.security.loopback_servers import REVISIONS
from winnow.server.storage.keys.key_file import add_key, new_key
from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.transports.access.http_access import HttpAccess
from winnow.server.transports.addresses import listen, parse_networks
from winnow.server.transports.connections import BoundedProtocol
from winnow.server.transports.http import PATH, http_application, proxied_protocol, web_server
from winnow.server.transports.operating.pages import Operations

SESSIONS, MINE, OTHERS = 5, "198.51.100.7", "203.0.113.9"
BEGIN = {"protocolVersion": REVISIONS[3], "capabilities": {}, "clientInfo": {"name": "attack", "version": "1"}}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": REVISIONS[3],
    "connection": "close",  # each request needs a connection of its own
}


class Few(BoundedProtocol):
    max_connections = 8


def access():
    Path("store").mkdir(mode=0o700)
    made = [new_key(name, int(time.time())) for name in ("red", "blue")]
    for key, _ in made:
        add_key(Path("store"), key, int(time.time()))
    rules = HttpAccess(KeyRing(Path("store")), ("p",), proxies=parse_networks("--trusted-proxy", ["127.0.0.1"]))
    return rules, *(str(text) for _, text in made)


@asynccontextmanager
async def serving(application, protocol):
    sockets = listen("127.0.0.1", 0)
    web = web_server(application, protocol)
    running = asyncio.create_task(web.serve(sockets))
    address = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    pool = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=address, timeout=30, trust_env=False, limits=pool) as http:
        try:
            while not web.started:
                await asyncio.sleep(0.01)
            yield http
        finally:
            web.should_exit = web.force_exit = True
            await asyncio.wait((running,))


def headers_of(key, address):
    return {**HEADERS, "x-api-key": key, "x-forwarded-for": address}


async def begin(http, headers):
    """The id of a new session; "" where the server has no place for it."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": BEGIN}
    with suppress(httpx.HTTPError):
        answer = await http.post(PATH, json=body, headers=headers)
        return answer.headers["mcp-session-id"] if answer.status_code == 200 else ""
    return ""


async def sessions_are_taken(application, red, blue):
    async with serving(application, BoundedProtocol) as http:
        for _ in range(4 * SESSIONS):
            await begin(http, headers_of(red, MINE))
        return not await begin(http, headers_of(blue, OTHERS))


async def connections_are_taken(application, protocol, red, blue):
    async with serving(application, protocol) as http, AsyncExitStack() as held:
        for _ in range(2 * Few.max_connections):
            if session := await begin(http, headers_of(red, MINE)):
                headers = {**headers_of(red, MINE), "mcp-session-id": session}
                await held.enter_async_context(http.stream("GET", PATH, headers=headers))
        return not await begin(http, headers_of(blue, OTHERS))


def control():  # the library's own limit of sessions; and the product without what it knows of its proxies
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    bare = Server("bare").streamable_http_app(
        streamable_http_path=PATH, max_sessions=SESSIONS, transport_security=unchecked
    )
    rules, *keys = access()
    application = http_application(Server("bare"), Operations(), rules)
    taken = [asyncio.run(sessions_are_taken(bare, *keys))]
    taken += [asyncio.run(connections_are_taken(application, Few, *keys))]
    return all(taken)


def surface():
    rules, *keys = access()
    few, many = (http_application(Server("bare"), Operations(), rules, max_sessions=most) for most in (SESSIONS, 100))
    taken = [asyncio.run(sessions_are_taken(few, *keys))]
    taken += [asyncio.run(connections_are_taken(many, proxied_protocol(Few, rules.proxies), *keys))]
    return any(taken)
