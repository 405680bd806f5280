"""The options of ``winnow serve`` for HTTP beyond loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TlsCert = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="certificate for --http, with its chain (PEM)")
]
TlsKey = Annotated[
    Path | None, typer.Option("--tls-key", metavar="FILE", help="private key of that certificate (PEM)")
]
TrustedProxy = Annotated[
    list[str] | None,
    typer.Option(
        "--trusted-proxy",
        metavar="ADDRESS",
        help="proxy with TLS in front of --http, whose X-Forwarded-For is believed; an address or a network, may "
        "repeat",
    ),
]
HostName = Annotated[
    list[str] | None,
    typer.Option("--host-name", metavar="NAME", help="name by which clients call --http; may repeat"),
]
AllowAddress = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-address",
        metavar="ADDRESS",
        help="clients that may use --http, an address or a network, may repeat; default: all",
    ),
]
