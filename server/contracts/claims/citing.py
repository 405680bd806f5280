"""Claims in rows of passages, where the tools of claims are listed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import Payload

MAX_CITING = 3  # of one row


class CitingClaim(Payload):
    """A claim with verified evidence in the passage. ``claim`` is ENTRY.N; wild_read takes the part ENTRY."""

    claim: Annotated[str, StringConstraints(max_length=64)]
    text: Annotated[str, StringConstraints(max_length=300)]
    stance: Literal["supports", "refutes", "mentions"]
    integration_status: Literal["probation", "integrated", "contested"]
    author: Annotated[str, StringConstraints(max_length=2_000)] | None = None


class Claimed(Payload):
    """A row that may show claims; ``claims_total`` is given where more cite the passage than are shown."""

    claims: list[CitingClaim] | None = Field(default=None, max_length=MAX_CITING)
    claims_total: int | None = Field(default=None, ge=0, le=10**12)
