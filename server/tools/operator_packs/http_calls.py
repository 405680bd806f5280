"""The request of a pack to its address. The host is the pack's; an input fills in parts of the path, or the body.

A name is resolved here, and the address that was checked is the one that is asked. An address of a private network
is asked only where the pack names it literally (or says "localhost"), so no name can lead into one. Redirects are
not followed, proxies and credentials of this account not used, and the answer is counted while it is read.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from winnow.server.errors import WinnowError
from winnow.server.text.printable import one_line
from winnow.server.tools.operator_packs.program_calls import template_values
from winnow.server.tools.operator_packs.public_addresses import is_public
from winnow.server.tools.operator_packs.records import PackRequest, ToolPack
from winnow.server.tools.operator_packs.templates import TemplateRefused, render

_HEADER = re.compile(r"[\t\x20-\x7e]*")
_SEPARATORS = re.compile(r"[/\\]")
_PORTS = {"http": 80, "https": 443}
_LOCAL = "localhost"
# A server takes some thousand; the library that sends it takes 65,536 with the host.
_PATH_CHARS = 60_000


class TooMuch(Exception):
    """The answer is larger than the pack's limit; ``size`` bytes were read."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request with its input filled in."""

    method: str
    scheme: str
    host: str
    port: int
    path: str
    headers: Mapping[str, str]
    body: bytes


def prepare_request(pack: ToolPack, request: PackRequest, given: Mapping[str, Any]) -> PreparedRequest:
    """Fill in a request. Raises ``TemplateRefused`` for an input that does not fit."""
    values = template_values(pack, given)
    origin = urlsplit(request.origin)
    path = render(request.path, values, in_url=True)
    if len(path) > _PATH_CHARS:
        raise TemplateRefused(f"the path is longer than {_PATH_CHARS:,} characters")
    # Also behind encoded separators, which servers may decode before they look for dots.
    if any(part in (".", "..") for part in _SEPARATORS.split(unquote(path.partition("?")[0]))):
        raise TemplateRefused("a part of the path is '.' or '..'")
    headers = {name: render(text, values) for name, text in request.headers}
    for name, text in headers.items():
        if not _HEADER.fullmatch(text):
            raise TemplateRefused(f"the header {name} would have a line break or a character beyond ASCII")
    return PreparedRequest(
        request.method,
        origin.scheme,
        origin.hostname or "",
        origin.port or _PORTS[origin.scheme],
        path if path.startswith("/") else f"/{path}",
        headers,
        _body(request, values),
    )


def _body(request: PackRequest, values: Mapping[str, Any]) -> bytes:
    if request.method == "GET":
        return b""
    text = render(request.body, values) if request.body else json.dumps({"input": values["input"]})
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise TemplateRefused("the body is not JSON with this input; insert values with | tojson") from None
    return text.encode("utf-8", "replace")


async def ask(prepared: PreparedRequest, most: int) -> bytes:
    """Send the request; returns the body of the answer, of at most ``most`` bytes.

    Raises ``TooMuch``, and ``WinnowError("SOURCE_UNAVAILABLE")`` for an address that cannot be asked and an answer
    that is no success. The time is for the caller to limit.
    """
    address = await _resolve(prepared.host, prepared.port)
    in_url = f"[{address}]" if ":" in address else address
    named = f"[{prepared.host}]" if ":" in prepared.host else prepared.host
    headers = {
        "Accept": "application/json",
        "User-Agent": "winnow",
        **({"Content-Type": "application/json"} if prepared.body else {}),
        **prepared.headers,
        "Host": named if prepared.port == _PORTS[prepared.scheme] else f"{named}:{prepared.port}",
        "Accept-Encoding": "identity",
    }
    async with httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=None) as client:
        sent = client.build_request(
            prepared.method,
            f"{prepared.scheme}://{in_url}:{prepared.port}{prepared.path}",
            headers=headers,
            content=prepared.body or None,
            extensions={"sni_hostname": prepared.host},
        )
        try:
            answer = await client.send(sent, stream=True)
            try:
                _check_answer(answer, prepared.host)
                return await _read(answer, most)
            finally:
                await answer.aclose()
        except (httpx.HTTPError, OSError) as error:
            raise _unavailable(f"{prepared.host} does not answer ({type(error).__name__})") from None


async def _read(answer: httpx.Response, most: int) -> bytes:
    data = bytearray()
    async for part in answer.aiter_raw():
        data += part
        if len(data) > most:
            raise TooMuch(len(data))
    return bytes(data)


def _check_answer(answer: httpx.Response, host: str) -> None:
    if not answer.is_success:
        raise _unavailable(f"{host} answers with status {answer.status_code}")
    if answer.headers.get("content-encoding", "identity").lower() != "identity":
        raise _unavailable(f"{host} compresses its answer, which was not asked for")


async def _resolve(host: str, port: int) -> str:
    """The address to ask. Raises ``WinnowError`` for a name that leads into a private network."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # an empty part of a name, or one that is too long, is no text of a name
        raise _unavailable(f"the name {host} is not known") from None
    addresses = [str(each[4][0]).partition("%")[0] for each in found]
    is_right = _is_loopback if host.lower() == _LOCAL else is_public
    if not addresses or not all(map(is_right, addresses)):
        raise _unavailable(
            f"the name {host} leads to a private address, which is asked only where the pack names it literally"
        )
    return addresses[0]


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback


def _unavailable(message: str) -> WinnowError:
    return WinnowError("SOURCE_UNAVAILABLE", one_line(message, 290), retryable=True)
