"""Accepts the loss of claims that cannot be restored, so that work continues with the remaining claims."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from winnow.server.claims.notebook_heads import heads_path
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path


def adopt_claims(store: Path) -> int:
    """Accept the file of claims as it is, or remove it if it is empty; return the number of changes that it has.

    Raises ``WinnowError`` for a file that cannot be opened; the loss is then still reported.
    """
    claims = claims_path(store)
    heads = heads_path(claims)
    if claims.is_file() and not claims.stat().st_size:
        for suffix in ("", "-wal", "-shm"):
            claims.with_name(f"{claims.name}{suffix}").unlink(missing_ok=True)
    if not claims.exists():
        claims.unlink(missing_ok=True)  # a dangling link
        heads.unlink(missing_ok=True)
        return 0
    kept = heads.with_name(f"{heads.name}.kept")
    if heads.exists():
        os.replace(heads, kept)
    try:
        with closing(SqliteClaimStore(claims)) as opened:
            changes = sum(opened.last_sequence(notebook) for notebook in opened.notebooks())
    except BaseException:
        if kept.exists():
            os.replace(kept, heads)
        raise
    kept.unlink(missing_ok=True)
    return changes
