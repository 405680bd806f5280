"""The access rules of an HTTP server, as ``winnow serve`` gets them from its options."""

from __future__ import annotations

import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.server.errors import WinnowError
from winnow.server.storage.keys.key_file import is_lost
from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.transports.addresses import Networks, is_loopback, parse_host_name, parse_networks
from winnow.server.transports.oidc.records import OidcOptions
from winnow.server.transports.oidc.token_rules import DEFAULT_RULES, read_rules

if TYPE_CHECKING:
    from winnow.server.transports.oidc.tokens import TokenVerifier

_SCOPE = re.compile(r"[!#-\[\]-~]{1,200}")
_AUDIENCE = re.compile(r"[!-~]{1,500}")
_KEYS = "a key (winnow key add NAME), or an issuer of tokens (--oidc-issuer)"
_TLS = "TLS, by --tls-cert and --tls-key, or by a proxy in front whose address is --trusted-proxy"


@dataclass(frozen=True, slots=True)
class HttpAccess:
    """The rules of access to a server over HTTP.

    ``reachable`` are the projects that it serves. ``always_needs_keys``: also where the store has no keys, because
    other machines may reach it. ``is_plain``: it listens beyond loopback without TLS, so that only its proxies may
    connect. ``host_names`` are the names that clients may call it by besides those of loopback. ``proxies`` are
    believed when they state a client's address. ``allowed`` are the addresses of clients; empty: all. ``denied``
    are addresses that are refused, also where they are among the allowed ones. ``tokens`` verifies those of an
    issuer; None: keys alone.
    """

    keys: KeyRing
    reachable: tuple[str, ...]
    always_needs_keys: bool = False
    is_plain: bool = False
    host_names: frozenset[str] = frozenset()
    proxies: Networks = ()
    allowed: Networks = ()
    denied: Networks = ()
    tokens: TokenVerifier | None = None

    @property
    def needs_keys(self) -> bool:
        """Whether a request needs a key or a token now."""
        return bool(self.tokens or self.always_needs_keys or self.keys.is_needed)


@dataclass(frozen=True, slots=True)
class Certificate:
    """The files of a server's TLS certificate and its private key, in PEM format; None without TLS."""

    file: Path | None = None
    key_file: Path | None = None


NO_CERTIFICATE = Certificate()


@dataclass(frozen=True, slots=True)
class IssuerOptions:
    """The options of ``winnow serve`` for tokens of an issuer, as given; all empty without one."""

    issuer: str = ""
    audience: str = ""
    scopes: Sequence[str] = ()
    rules: Path | None = None

    def verifier(self) -> TokenVerifier | None:
        """The verifier of tokens; None without an issuer. Raises ``WinnowError("INVALID_REQUEST")``."""
        if not any((self.issuer, self.audience, self.scopes, self.rules)):
            return None
        if not (self.issuer and self.audience):
            raise WinnowError(
                "INVALID_REQUEST",
                "--oidc-issuer and --oidc-audience belong together: a token without this audience is for another "
                "server",
            )
        from winnow.server.transports.oidc.issuer_keys import check_issuer
        from winnow.server.transports.oidc.tokens import TokenVerifier

        check_issuer(self.issuer)
        for option, texts, form in (
            ("--oidc-audience", [self.audience], _AUDIENCE),
            ("--oidc-scope", self.scopes, _SCOPE),
        ):
            if not all(form.fullmatch(text) for text in texts):
                raise WinnowError("INVALID_REQUEST", f"{option} takes printable characters without blanks")
        rules = DEFAULT_RULES if self.rules is None else read_rules(self.rules)
        return TokenVerifier(OidcOptions(self.issuer, self.audience, tuple(self.scopes), rules))


NO_ISSUER = IssuerOptions()


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """The options of ``winnow serve`` for HTTP, as given."""

    certificate: Certificate = NO_CERTIFICATE
    host_names: Sequence[str] = ()
    proxies: Sequence[str] = ()
    allowed: Sequence[str] = ()
    denied: Sequence[str] = ()
    issuer: IssuerOptions = NO_ISSUER
    no_keys: bool = False

    def access(self, host: str, store: Path, reachable: tuple[str, ...]) -> HttpAccess:
        """The rules that these options make for a store that is served on ``host``.

        Raises ``WinnowError("INVALID_REQUEST")`` if they would let other machines in without a key or without TLS,
        for a file of keys that cannot be used, and for an option that is not what it should be.
        """
        if self.no_keys and not is_lost(store):
            raise WinnowError(
                "INVALID_REQUEST",
                "--no-keys is for a store whose keys were lost, which this one's are not; leave it out",
            )
        keys, is_exposed = KeyRing(store, allows_loss=self.no_keys), not is_loopback(host)
        if keys.problem:
            raise WinnowError("INVALID_REQUEST", keys.problem)
        proxies = parse_networks("--trusted-proxy", self.proxies)
        self._check_certificate()
        tokens = self.issuer.verifier()
        has_clients = bool(keys.active_count) or tokens is not None
        if is_exposed and not (has_clients and (self.certificate.file or proxies)):
            missing = [
                what
                for what, is_there in ((_KEYS, has_clients), (_TLS, self.certificate.file or proxies))
                if not is_there
            ]
            raise WinnowError(
                "INVALID_REQUEST",
                f"--http: {host!r} can be reached from other machines, which needs keys or tokens, and TLS; "
                f"missing: {'; and '.join(missing)}. Or use 127.0.0.1",
            )
        if (proxies or self.host_names) and not has_clients:
            raise WinnowError(
                "INVALID_REQUEST",
                "--trusted-proxy and --host-name are for clients on other machines, and they need keys or "
                "tokens; add a key (winnow key add NAME), or give --oidc-issuer",
            )
        return HttpAccess(
            keys,
            reachable,
            always_needs_keys=bool(is_exposed or proxies or self.host_names),
            is_plain=is_exposed and self.certificate.file is None,
            host_names=frozenset(map(parse_host_name, self.host_names)),
            proxies=proxies,
            allowed=parse_networks("--allow-address", self.allowed),
            denied=parse_networks("--deny-address", self.denied),
            tokens=tokens,
        )

    def _check_certificate(self) -> None:
        file, key_file = self.certificate.file, self.certificate.key_file
        if (file is None) != (key_file is None):
            raise WinnowError("INVALID_REQUEST", "--tls-cert and --tls-key belong together; give both files")
        if file is None:
            return
        for option, path in (("--tls-cert", file), ("--tls-key", key_file)):
            if path is not None and (why := _why_unreadable(path)):
                raise WinnowError("INVALID_REQUEST", f"{option}: {path} cannot be read ({why}); name a PEM file")
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file, key_file, _no_password)
        except (OSError, ValueError) as error:
            raise WinnowError(
                "INVALID_REQUEST",
                f"--tls-cert and --tls-key cannot be used ({getattr(error, 'strerror', None) or error}); they are "
                "files in PEM format: the first the certificate with its chain, the second its key, without a "
                "password",
            ) from None


def _why_unreadable(file: Path) -> str:
    """Why the file cannot be read; "" if it can."""
    try:
        with file.open("rb"):
            return ""
    except OSError as error:
        return error.strerror or type(error).__name__


def _no_password() -> str:
    raise ValueError("the key has a password")
