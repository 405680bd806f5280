# surface: held
# Tokens of a stranger, without a signature, of another audience or issuer, expired, or that name where keys are.
import base64
import json
import time

import jwt

from winnow.security.loopback_servers import bearer, request_head, send_raw, serve_product
from winnow.security.token_issuer import AUDIENCE, KEY, STRANGER, make_token, public_key, serve_issuer


def unsigned(algorithm, issuer):
    parts = {"alg": algorithm, "kid": "good"}, {"iss": issuer, "sub": "x", "aud": AUDIENCE, "exp": 4_000_000_000}
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)


def forged(issuer):
    evil = {"key": STRANGER, "header": {"kid": "evil", "jku": f"{issuer}/evil", "x5u": f"{issuer}/evil"}}
    return [
        make_token(issuer, STRANGER),
        make_token(issuer, **evil),
        make_token(issuer, STRANGER, {"jwk": public_key(STRANGER, "good")}),
        make_token(issuer, aud="https://other.example/mcp"),
        make_token("https://evil.example"),
        make_token(issuer, exp=int(time.time()) - 600),
        make_token(issuer, nbf=int(time.time()) + 600),
        unsigned("none", issuer) + ".",
        unsigned("HS256", issuer) + ".AAAA",
    ]


def control():
    token = make_token("https://login.example.com", STRANGER)
    return jwt.decode(token, options={"verify_signature": False})["sub"] == "ada"  # the rule of one that only reads


def surface():
    def asks(token):
        return send_raw(port, request_head("/health", "host: localhost", bearer(token)))[0]

    with serve_issuer() as issuer:
        with serve_product("127.0.0.1", "--oidc-issuer", issuer, "--oidc-audience", AUDIENCE) as port:
            assert asks(make_token(issuer, KEY)) == 200
            return any(asks(token) not in (401, 429) for token in forged(issuer)) or asks(make_token(issuer)) != 200
