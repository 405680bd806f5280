"""The hash of a key's secret: scrypt, with a salt for each key, compared in constant time.

A secret has 256 random bits, so that even a fast hash would not reveal it. scrypt adds that each guess at a copied
file takes 16 MiB and tens of milliseconds, as for a password.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

_SALT_BYTES, _DIGEST_BYTES = 16, 32
_N, _R, _P = 2**14, 8, 1
_MAX_MEMORY = 64 * 1024 * 1024


def new_salt() -> str:
    """A random salt in hexadecimal digits."""
    return secrets.token_hex(_SALT_BYTES)


def digest_of(secret: str, salt: str) -> str:
    """The digest of a secret, in hexadecimal digits. Takes tens of milliseconds, so not for an event loop."""
    digest = hashlib.scrypt(
        secret.encode("ascii"),
        salt=bytes.fromhex(salt),
        n=_N,
        r=_R,
        p=_P,
        maxmem=_MAX_MEMORY,
        dklen=_DIGEST_BYTES,
    )
    return digest.hex()


def matches(secret: str, salt: str, digest: str) -> bool:
    """Whether the digest is that of the secret."""
    return hmac.compare_digest(digest_of(secret, salt), digest)
