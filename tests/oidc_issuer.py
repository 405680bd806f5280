"""An issuer of tokens on loopback, for tests: the document, the keys, and tokens of any content."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from starlette.types import Receive, Scope, Send

from tests.serving import running
from winnow.server.transports.addresses import listen

AUDIENCE = "https://winnow.example.com/mcp"
RSA_KEY = rsa.generate_private_key(65_537, 2_048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def public_part(key: PrivateKeyTypes, name: str, **facts: Any) -> dict[str, Any]:
    """The JSON Web Key of a private key, without what is private."""
    kind = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    return {**kind.to_jwk(key.public_key(), as_dict=True), "kid": name, "use": "sig", **facts}  # type: ignore[arg-type]


@dataclass
class Issuer:
    """What an issuer answers, and how often it was asked. ``mode`` says how its keys are sent."""

    address: str = ""
    keys: list[dict[str, Any]] = field(
        default_factory=lambda: [public_part(RSA_KEY, "first"), public_part(EC_KEY, "second")]
    )
    facts: dict[str, Any] = field(default_factory=dict)
    mode: str = "keys"
    asked: list[str] = field(default_factory=list)

    def token(
        self,
        *without: str,
        key: Any = RSA_KEY,
        algorithm: str = "RS256",
        header: dict[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        """A token for an hour with these claims and header fields; ``without`` are claims to leave out."""
        now = int(time.time())
        usual = {"iss": self.address, "sub": "ada", "aud": AUDIENCE, "iat": now, "exp": now + 3_600, **claims}
        kept = {name: value for name, value in usual.items() if name not in without}
        return jwt.encode(kept, key, algorithm, {"kid": "first", **(header or {})})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI."""
        if scope["type"] != "http":
            return
        self.asked.append(scope["path"])
        if scope["path"] == "/.well-known/openid-configuration":
            facts = {"issuer": self.address, "jwks_uri": f"{self.address}/keys", **self.facts}
            await _send(send, 200, [json.dumps(facts).encode()])
        elif self.mode == "hangs":
            await asyncio.sleep(3_600)
        elif self.mode == "endless":
            await _send(send, 200, [b'{"keys": ["' + b"x" * 65_536] * 160)
        elif self.mode == "redirects":
            await _send(send, 302, [], (b"location", f"{self.address}/elsewhere".encode()))
        else:
            await _send(send, 200, [json.dumps({"keys": self.keys}).encode()])


async def _send(send: Send, status: int, parts: Sequence[bytes], *headers: tuple[bytes, bytes]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*headers]})
    for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def serve_issuer() -> AsyncIterator[Issuer]:
    """An issuer on a free port."""
    issuer, sockets = Issuer(), listen("127.0.0.1", 0)
    issuer.address = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    config = uvicorn.Config(issuer, log_config=None, access_log=False, lifespan="off", ws="none")
    async with running(uvicorn.Server(config), sockets):
        yield issuer
