"""The options of ``winnow serve`` for HTTP beyond loopback, and for tokens."""

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
DenyAddress = Annotated[
    list[str] | None,
    typer.Option(
        "--deny-address",
        metavar="ADDRESS",
        help="clients that may not use --http, also of those allowed, an address or a network, may repeat",
    ),
]
NoKeys = Annotated[
    bool,
    typer.Option(
        "--no-keys", help="serve --http on this computer without keys, though the store had some, which were lost"
    ),
]
OidcIssuer = Annotated[
    str | None,
    typer.Option(
        "--oidc-issuer", metavar="URL", help="issuer whose tokens --http accepts beside keys, as tokens name it"
    ),
]
OidcAudience = Annotated[
    str | None,
    typer.Option("--oidc-audience", metavar="NAME", help="audience that its tokens must name: this server"),
]
OidcScope = Annotated[
    list[str] | None,
    typer.Option("--oidc-scope", metavar="SCOPE", help="scope that its tokens must have; may repeat"),
]
OidcRules = Annotated[
    Path | None,
    typer.Option(
        "--oidc-rules",
        metavar="FILE",
        help="projects and rights by claims of tokens (TOML); default: all projects, read-only",
    ),
]
