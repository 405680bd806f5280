"""TLS for HTTP connections, with the deadline and the cap of ``BoundedProtocol`` from the first byte on.

The event loop's own TLS server tells its protocol of a connection only after the handshake, for which it waits a
minute. So connections that never send one would be neither counted nor closed. Here a connection is accepted as it
comes, counted for its address, and given the time of a request's head for its handshake.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from pathlib import Path
from typing import Any

from winnow.server.transports.addresses import group_of
from winnow.server.transports.connections import BoundedProtocol


class Handshakes:
    """The TLS context of one server, and by address its connections whose handshake has not ended."""

    def __init__(self, file: Path, key_file: Path | None) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(file, key_file)
        self.pending: Counter[str] = Counter()


def tls_protocol(base: type[BoundedProtocol], file: Path, key_file: Path | None) -> type[BoundedProtocol]:
    """A protocol like ``base`` that speaks TLS with this certificate."""
    return type("TlsProtocol", (_TlsConnection, base), {"handshakes": Handshakes(file, key_file)})


class _TlsConnection(BoundedProtocol):
    """A connection that becomes one of its base class after the handshake."""

    handshakes: Handshakes
    _has_begun = False
    _early: bytes = b""
    _handshake: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Callback of asyncio: the connection was established; its handshake follows."""
        peername = transport.get_extra_info("peername")
        peer = peername[0] if peername else ""
        address, pending = group_of(peer), self.handshakes.pending
        held = pending[address] + self.count_of(address)
        if held >= self.most_of(peer) or len(self.connections) + pending.total() >= self.most_connections():
            transport.abort()  # nothing can be said before the handshake
            return
        transport.pause_reading()
        self.handshakes.pending[address] += 1
        self._handshake = self.loop.create_task(self._begin(transport, address))

    async def _begin(self, transport: asyncio.Transport, address: str) -> None:
        """Shake hands, and begin as a connection of the base class; the loop closes one that fails."""
        try:
            secured: Any = await self.loop.start_tls(
                transport,
                self,
                self.handshakes.context,
                server_side=True,
                ssl_handshake_timeout=self.seconds["head"],
            )
        except OSError:  # it was lost, late, or not TLS
            return
        finally:
            self.handshakes.pending[address] -= 1
            if not self.handshakes.pending[address]:
                del self.handshakes.pending[address]
        if secured is None or secured.is_closing():
            return
        self._has_begun = True
        super().connection_made(secured)
        if self._early:
            self.data_received(self._early)

    def data_received(self, data: bytes) -> None:
        """Callback of asyncio: data arrived, perhaps before this connection knows that its handshake is over."""
        if self._has_begun:
            super().data_received(data)
        else:
            self._early += data

    def eof_received(self) -> None:
        """Callback of asyncio: the client sends no more."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Callback of asyncio: the connection was lost."""
        if self._has_begun:
            super().connection_lost(exc)
