"""The option ``--where`` of commands over all documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from winnow.server.errors import WinnowError

WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="only FIELD=VALUE of the front matter; again: any of the values; FIELD= : without a value",
        show_default=False,
    ),
]


def parse_where(given: Sequence[str]) -> dict[str, list[str]]:
    """FIELD=VALUE pairs as the filter ``where``: all values of a field, any of which matches."""
    where: dict[str, list[str]] = {}
    for pair in given:
        field, separator, value = pair.partition("=")
        if not separator or not field:
            raise WinnowError("INVALID_REQUEST", f"--where {pair}: write FIELD=VALUE, e.g. stage=beta")
        where.setdefault(field, []).append(value)
    return where
