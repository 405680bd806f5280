"""An issuer of tokens on loopback, for attacks on transports."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

AUDIENCE = "https://winnow.example.com/mcp"
KEY = rsa.generate_private_key(65_537, 2_048)
STRANGER = rsa.generate_private_key(65_537, 2_048)


def public_key(key: rsa.RSAPrivateKey, name: str) -> dict[str, Any]:
    """The JSON Web Key of the public part."""
    return {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": name}


def make_token(issuer: str, key: Any = KEY, header: dict[str, Any] | None = None, **claims: Any) -> str:
    """A token for an hour, with these claims and header fields in place of the right ones."""
    right = {"iss": issuer, "sub": "ada", "aud": AUDIENCE, "exp": int(time.time()) + 3_600}
    return jwt.encode({**right, **claims}, key, "RS256", {"kid": "good", **(header or {})})


@contextmanager
def serve_issuer(padding: int = 0, pause: float = 0.0) -> Iterator[str]:
    """Run an issuer; yields its address. Its keys come after ``pause`` seconds, with this many further bytes.

    At ``/evil`` it has the key of a stranger, whose address a token may name.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/.well-known"):
                facts: dict[str, Any] = {"issuer": address, "jwks_uri": f"{address}/keys"}
            elif self.path == "/evil":
                facts = {"keys": [public_key(STRANGER, "evil")]}
            else:
                time.sleep(pause)
                facts = {"keys": [public_key(KEY, "good")], "filler": "x" * padding}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(facts).encode())

        def log_message(self, format: str, *arguments: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield address
        finally:
            server.shutdown()
