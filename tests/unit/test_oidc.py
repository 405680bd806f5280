"""Tokens of an issuer: its keys, what is refused, what rules allow, and the options."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.oidc_issuer import AUDIENCE, EC_KEY, RSA_KEY, Issuer, public_part, serve_issuer
from winnow.server.errors import WinnowError
from winnow.server.runtime.sessions.identities import identity_of, queue_key
from winnow.server.runtime.sessions.rights import settings_for
from winnow.server.settings.settings import Settings
from winnow.server.transports.access.http_access import HttpOptions, IssuerOptions
from winnow.server.transports.oidc import issuer_keys
from winnow.server.transports.oidc.issuer_keys import (
    FRESH_SECONDS,
    KEEP_SECONDS,
    LOOK_SECONDS,
    MAX_BYTES,
    IssuerKeys,
    check_issuer,
)
from winnow.server.transports.oidc.records import OidcOptions, TokenClient, TokenError
from winnow.server.transports.oidc.token_rules import TokenRule, find_rule, read_rules
from winnow.server.transports.oidc.tokens import MAX_TOKEN_CHARS, SKEW_SECONDS, TokenVerifier

pytestmark = pytest.mark.anyio

STRANGER = rsa.generate_private_key(65_537, 2_048)
PUBLIC_PEM = RSA_KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


class Clock:
    """A clock that stands still until it is moved."""

    seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture(scope="module")
async def serving() -> AsyncIterator[Issuer]:
    async with serve_issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(serving: Issuer) -> Issuer:
    """The issuer as it is at first."""
    fresh = Issuer()
    serving.keys, serving.facts, serving.mode = fresh.keys, {}, "keys"
    serving.asked.clear()
    return serving


@pytest.fixture
def clock() -> Clock:
    return Clock()


def verifier(issuer: Issuer, clock: Clock | None = None, **options: Any) -> TokenVerifier:
    """A verifier of this issuer's tokens; ``clock`` is that of its keys."""
    keys = IssuerKeys(issuer.address, clock or Clock())
    return TokenVerifier(OidcOptions(issuer.address, AUDIENCE, **options), keys)


async def refusal_of(tokens: TokenVerifier, text: str) -> TokenError:
    with pytest.raises(TokenError) as caught:
        await tokens.verify(text)
    return caught.value


# --- tokens


async def test_a_token_names_one_client_by_issuer_and_subject(issuer: Issuer) -> None:
    tokens = verifier(issuer)
    ada = await tokens.verify(issuer.token())
    again = await tokens.verify(issuer.token(key=EC_KEY, algorithm="ES256", header={"kid": "second"}, jti="2"))
    bob = await tokens.verify(issuer.token(sub="bob"))
    assert (ada.id, ada.name) == (again.id, again.name)
    assert ada.id != bob.id
    identity = identity_of(ada.name)
    assert (identity.access_key, identity.is_read_only, queue_key(ada.name)) == (ada.id, True, identity.key)
    assert tokens.is_active(ada)


async def test_an_audience_may_be_one_of_several_and_clocks_may_differ(issuer: Issuer) -> None:
    now, tokens = int(time.time()), verifier(issuer)
    for claims in (
        {"aud": ["https://other.example", AUDIENCE]},
        {"exp": now - SKEW_SECONDS + 20},
        {"nbf": now + SKEW_SECONDS - 20},
        {"iat": now + SKEW_SECONDS - 20},
    ):
        assert (await tokens.verify(issuer.token(**claims))).subject == "ada"


WRONG_CLAIMS: Mapping[str, dict[str, Any]] = {
    "another audience": {"aud": "https://other.example/mcp"},
    "an audience with the beginning of ours": {"aud": AUDIENCE + "/"},
    "another issuer": {"iss": "https://evil.example"},
    "a subject that is no text": {"sub": 7},
    "an empty subject": {"sub": ""},
    "a long subject": {"sub": "a" * 300},
    "expired": {"exp": int(time.time()) - 3_600},
    "not yet valid": {"nbf": int(time.time()) + 3_600},
    "issued in the future": {"iat": int(time.time()) + 3_600},
    "an end that is no number": {"exp": "soon"},
    "an end that is no time": {"exp": {"at": 1}},
    "bound to a key of its owner": {"cnf": {"jkt": "x"}},
}


@pytest.mark.parametrize("claims", WRONG_CLAIMS.values(), ids=WRONG_CLAIMS)
async def test_a_token_with_wrong_claims_is_refused(issuer: Issuer, claims: dict[str, Any]) -> None:
    assert (await refusal_of(verifier(issuer), issuer.token(**claims))).error == "invalid_token"


@pytest.mark.parametrize("claim", ["iss", "sub", "aud", "exp"])
async def test_a_token_without_a_needed_claim_is_refused(issuer: Issuer, claim: str) -> None:
    assert (await refusal_of(verifier(issuer), issuer.token(claim))).error == "invalid_token"


def unsigned(header: Mapping[str, Any], claims: Mapping[str, Any], signature: bytes = b"") -> str:
    """A token of these parts."""
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def hostile_tokens(issuer: Issuer) -> dict[str, str]:
    """Tokens with the right claims and a wrong signature, by what is wrong."""
    right = issuer.token()
    claims = jwt.decode(right, options={"verify_signature": False})
    head, body, signature = right.split(".")
    forged = {**claims, "sub": "root"}
    other_body = unsigned({}, forged).split(".")[1]
    as_secret = base64.urlsafe_b64encode(PUBLIC_PEM).decode()
    jwk = public_part(STRANGER, "mine")
    stranger = {"key": STRANGER}
    return {
        "no signature": unsigned({"alg": "none", "kid": "first"}, claims),
        "none in other letters": unsigned({"alg": "nOnE", "kid": "first"}, claims),
        "an empty signature": f"{head}.{body}.",
        "another signature": f"{head}.{body}.{signature[:-6]}AAAAAA",
        "another body": f"{head}.{other_body}.{signature}",
        "the public key as a secret": _with_secret(claims, PUBLIC_PEM),
        "the text of the public key as a secret": _with_secret(claims, as_secret.encode()),
        "a key of a stranger": issuer.token(**stranger),
        "a key in the header": issuer.token(**stranger, header={"kid": "mine", "jwk": jwk}),
        "an address of keys": issuer.token(**stranger, header={"jku": f"{issuer.address}/evil"}),
        "an address of a certificate": issuer.token(**stranger, header={"x5u": f"{issuer.address}/evil"}),
        "a certificate": issuer.token(**stranger, header={"x5c": ["AAAA"]}),
        "a path as the name of its key": issuer.token(**stranger, header={"kid": "../../../dev/null"}),
        "a statement as the name of its key": issuer.token(**stranger, header={"kid": "x' UNION SELECT 'AA'--"}),
        "a key of another kind": issuer.token(header={"kid": "second"}),
        "critical extensions": issuer.token(header={"crit": ["exp"], "exp": 1}),
        "a type for a logout": issuer.token(header={"typ": "logout+jwt"}),
        "an object as its algorithm": unsigned({"alg": {"a": 1}, "kid": "first"}, claims, b"x"),
        "a list as the name of its key": unsigned({"alg": "RS256", "kid": ["first"]}, claims, b"x"),
        "deep parts": "e30." + base64.urlsafe_b64encode(b"[" * 5_000).decode() + ".AA",
        "a huge token": issuer.token(padding="x" * MAX_TOKEN_CHARS),
        "encrypted": "a.b.c.d.e",
        "no parts": "opaque",
        "empty parts": "..",
    }


def _with_secret(claims: Mapping[str, Any], secret: bytes) -> str:
    """A token that is signed with this text as a shared secret."""
    import hashlib
    import hmac

    signed = unsigned({"alg": "HS256", "kid": "first"}, claims).rpartition(".")[0]
    signature = hmac.digest(secret, signed.encode(), hashlib.sha256)
    return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


async def test_hostile_tokens_are_refused_and_no_address_in_them_is_read(issuer: Issuer) -> None:
    tokens = verifier(issuer)
    assert (await tokens.verify(issuer.token())).subject == "ada"
    for what, text in hostile_tokens(issuer).items():
        refusal = await refusal_of(tokens, text)
        assert (what, refusal.error, refusal.is_attempt) == (what, "invalid_token", True)
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]


async def test_scopes_are_read_in_each_form_and_a_lack_is_named(issuer: Issuer) -> None:
    tokens = verifier(issuer, scopes=("kb:read",))
    for claims in ({"scope": "openid kb:read"}, {"scp": ["kb:read"]}, {"scp": "kb:read"}):
        assert (await tokens.verify(issuer.token(**claims))).subject == "ada"
    for claims in ({}, {"scope": "kb:reader"}, {"scope": 7}, {"scp": [{"kb:read": 1}]}):
        refusal = await refusal_of(tokens, issuer.token(**claims))
        assert (refusal.error, refusal.is_attempt, "kb:read" in refusal.message) == (
            "insufficient_scope",
            False,
            True,
        )


# --- keys of the issuer


async def test_unknown_keys_are_looked_for_once_a_minute_and_a_new_one_is_found(
    issuer: Issuer, clock: Clock
) -> None:
    tokens, turned = verifier(issuer, clock), rsa.generate_private_key(65_537, 2_048)
    new = issuer.token(key=turned, header={"kid": "third"})
    await tokens.verify(issuer.token())
    issuer.keys = [public_part(turned, "third")]
    for _ in range(20):
        await refusal_of(tokens, new)
    assert issuer.asked.count("/keys") == 1
    clock.seconds += LOOK_SECONDS
    assert (await tokens.verify(new)).subject == "ada"
    await refusal_of(tokens, issuer.token())  # the earlier key is gone
    assert issuer.asked.count("/keys") == 2


async def test_keys_go_on_while_the_issuer_is_away_for_a_day(issuer: Issuer, clock: Clock) -> None:
    keys = IssuerKeys(issuer.address, clock)
    assert await keys.get("first", "RS256") is not None
    issuer.mode = "redirects"
    for seconds in (FRESH_SECONDS, LOOK_SECONDS, KEEP_SECONDS - FRESH_SECONDS - LOOK_SECONDS - 1):
        clock.seconds += seconds
        assert await keys.get("first", "RS256") is not None
    clock.seconds += LOOK_SECONDS
    with pytest.raises(WinnowError) as caught:
        await keys.get("first", "RS256")
    assert (caught.value.reason, caught.value.retryable) == ("SOURCE_UNAVAILABLE", True)
    issuer.mode = "keys"
    clock.seconds += LOOK_SECONDS
    assert await keys.get("first", "RS256") is not None
    assert "/elsewhere" not in issuer.asked


@pytest.mark.parametrize("mode", ["endless", "hangs", "redirects"])
async def test_keys_that_are_too_large_late_or_elsewhere_are_not_used(
    issuer: Issuer, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuer_keys, "FETCH_SECONDS", 0.5)
    issuer.mode, keys = mode, IssuerKeys(issuer.address, Clock())
    for _ in range(3):
        with pytest.raises(WinnowError) as caught:
            await keys.get("first", "RS256")
        assert 0 < (caught.value.retry_after_s or 0) <= LOOK_SECONDS
    assert issuer.asked.count("/keys") == 1


async def test_documents_that_mislead_are_not_followed(issuer: Issuer) -> None:
    for facts in (
        {"issuer": "https://evil.example"},
        {"jwks_uri": "http://192.0.2.1/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": None},
        {"filler": "x" * MAX_BYTES},
    ):
        issuer.facts = facts
        with pytest.raises(WinnowError):
            await IssuerKeys(issuer.address, Clock()).get("first", "RS256")
    assert "/keys" not in issuer.asked


async def test_keys_that_are_not_for_signatures_weak_or_malformed_are_left_out(issuer: Issuer) -> None:
    weak = rsa.generate_private_key(65_537, 1_024)
    issuer.keys = [
        public_part(RSA_KEY, "good", alg="RS512", use=None, key_ops=None),
        public_part(RSA_KEY, "secret", use="enc"),
        public_part(RSA_KEY, "wrapping", key_ops=["wrapKey"]),
        public_part(RSA_KEY, "number", key_ops=5),
        public_part(RSA_KEY, "other", alg="HS256"),
        public_part(weak, "weak"),
        {"kty": "oct", "k": "AAAA", "kid": "shared"},
        {"kty": "RSA", "n": "!!", "e": [], "kid": "malformed"},
        {"kty": {"a": 1}, "kid": "strange"},
        {"kid": "empty"},
    ]
    keys = IssuerKeys(issuer.address, Clock())
    assert await keys.get("good", "RS512") is not None
    names = ("good", "secret", "wrapping", "number", "other", "weak", "shared", "malformed", "strange", "empty")
    found = [(name, algorithm) for name in names for algorithm in ("RS256", "HS256", "RS512", "ES256")]
    assert [pair for pair in found if keys.find(*pair)] == [("good", "RS512")]
    assert keys.find(None, "RS512") is not None  # the only one


# --- rules


def test_the_first_rule_that_matches_decides() -> None:
    rules = (
        TokenRule(claim="sub", value="mallory", refuse=True),
        TokenRule(claim="realm_access.roles", value="editor", projects=("handbook",), read_only=False),
        TokenRule(claim="https://example.com/team", value="red", calls_per_minute=7),
        TokenRule(claim="scope", value="kb:all"),
    )
    cases: tuple[tuple[dict[str, Any], int | None], ...] = (
        ({"sub": "mallory", "realm_access": {"roles": ["editor"]}}, None),
        ({"sub": "ada", "realm_access": {"roles": ["viewer", "editor"]}, "scope": "kb:all"}, 1),
        ({"sub": "ada", "https://example.com/team": "red"}, 2),
        ({"sub": "ada", "scope": "openid kb:all"}, 3),
        ({"sub": "ada", "scope": "kb:all:not"}, None),
        ({"sub": "ada", "realm_access": ["editor"]}, None),
    )
    for claims, number in cases:
        assert find_rule(rules, claims) == (None if number is None else rules[number])


async def test_a_rule_gives_projects_and_rights(issuer: Issuer) -> None:
    rules = (TokenRule(claim="team", value="red", projects=("red",), read_only=False, calls_per_minute=7),)
    tokens = verifier(issuer, rules=rules)
    client = await tokens.verify(issuer.token(team=["red"]))
    identity = identity_of(client.name)
    assert (identity.projects, identity.is_read_only, identity.calls_per_minute) == (("red",), False, 7)
    narrowed = settings_for(Settings(project="blue", projects=("blue", "red")), client.name)
    assert (narrowed.project, narrowed.reachable) == ("red", ("red",))
    assert (await refusal_of(tokens, issuer.token(team="blue"))).error == "insufficient_scope"


def test_rules_are_read_from_a_file_that_only_its_owner_may_write(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('[[rules]]\nclaim = "groups"\nvalue = "staff"\nprojects = ["handbook"]\n', "utf-8")
    assert read_rules(file) == (TokenRule(claim="groups", value="staff", projects=("handbook",)),)
    for text in (
        "",
        "rules = []",
        "[[rules]]\nread_onyl = true\n",
        "[[rules",
        '[[rules]]\nprojects = ["a b"]\n',
        '[[rules]]\nprojects = ["red\\n"]\n',
    ):
        file.write_text(text, "utf-8")
        with pytest.raises(WinnowError, match="--oidc-rules"):
            read_rules(file)
    file.chmod(0o666)
    with pytest.raises(WinnowError, match="others may write it"):
        read_rules(file)
    with pytest.raises(WinnowError, match="--oidc-rules"):
        read_rules(tmp_path / "missing.toml")


# --- options


@pytest.mark.parametrize(
    "address",
    [
        "http://login.example.com",
        "login.example.com",
        "https://",
        "https://a b",
        "ftp://x.example",
        "https://u@x.y",
    ],
)
def test_an_issuer_is_an_https_address(address: str) -> None:
    with pytest.raises(WinnowError, match="--oidc-issuer"):
        check_issuer(address)


def test_the_options_of_tokens_belong_together_and_admit_a_server_beyond_loopback(tmp_path: Path) -> None:
    good = IssuerOptions("https://login.example.com/realm", AUDIENCE, ("kb:read",))
    for options in (
        IssuerOptions(issuer=good.issuer),
        IssuerOptions(audience=AUDIENCE),
        IssuerOptions(scopes=("kb:read",)),
        IssuerOptions(good.issuer, AUDIENCE, ('a"b',)),
        IssuerOptions(good.issuer, "two words"),
    ):
        with pytest.raises(WinnowError, match="--oidc-"):
            HttpOptions(issuer=options).access("127.0.0.1", tmp_path, ("p",))
    access = HttpOptions(proxies=("10.0.0.1",), issuer=good).access("192.0.2.1", tmp_path, ("p",))
    assert (access.tokens is not None, access.always_needs_keys, access.is_plain) == (True, True, True)
    with pytest.raises(WinnowError, match="--oidc-issuer"):
        HttpOptions(proxies=("10.0.0.1",)).access("192.0.2.1", tmp_path, ("p",))


def test_a_client_ends_with_its_token(clock: Clock) -> None:
    client = TokenClient("oidc-1", "key:oidc-1:read-only::", "ada", (), 1_000.0)
    tokens = TokenVerifier(OidcOptions("https://login.example.com", AUDIENCE), now=clock)
    clock.seconds = 999.0
    assert tokens.is_active(client)
    clock.seconds = 1_000.0
    assert not tokens.is_active(client)
