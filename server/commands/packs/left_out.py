"""Rows and lines of what commands do not offer of the operator's folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from winnow.server.runtime.operator_files import LeftOut


def left_out_rows(left_out: Sequence[LeftOut]) -> list[dict[str, str]]:
    """For ``--json``."""
    return [{"what": one.what, "why": one.why} for one in left_out]


def left_out_lines(left_out: Sequence[LeftOut]) -> list[str]:
    """For people, a line each."""
    return [f"left out: {one.what}: {one.why}" for one in left_out]
