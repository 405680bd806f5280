"""Referral to the issuer of tokens: the metadata of a protected resource (RFC 9728), and challenges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.types import Scope

from winnow.server.transports.oidc.records import OidcOptions
from winnow.server.transports.origins import stated_origin

_WELL_KNOWN = "/.well-known/oauth-protected-resource"
_RESOURCE = "/mcp"
# The route of the server as a whole, and that of its endpoint, which clients try first.
ROUTES = frozenset({_WELL_KNOWN, _WELL_KNOWN + _RESOURCE})


def describe_resource(options: OidcOptions, scope: Scope, *, has_tls: bool) -> dict[str, Any]:
    """The metadata, with the address at which the client asked for it, which was checked before."""
    return {
        "resource": stated_origin(scope, has_tls=has_tls) + _RESOURCE,
        "resource_name": "winnow",
        "authorization_servers": [options.issuer],
        "bearer_methods_supported": ["header"],
        **({"scopes_supported": [*options.scopes]} if options.scopes else {}),
    }


def challenge(
    options: OidcOptions, scope: Scope, error: str = "", message: str = "", *, has_tls: bool
) -> Mapping[str, str]:
    """The header of a 401 or 403: where the metadata is, which scopes are needed, and what was wrong."""
    facts = {
        "error": error,
        "error_description": message,
        "scope": " ".join(options.scopes),
        "resource_metadata": stated_origin(scope, has_tls=has_tls) + _WELL_KNOWN + _RESOURCE,
    }
    quoted = ", ".join(f'{name}="{text}"' for name, text in facts.items() if text)
    return {"www-authenticate": f"Bearer {quoted}"}
