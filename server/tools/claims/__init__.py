"""The pack ``claims``: a notebook of claims that agents write. Listed where the setting ``tools`` names it."""

from __future__ import annotations

from winnow.server.tools.base import Tool
from winnow.server.tools.claims import (
    wild_claims,
    wild_friction,
    wild_read,
    wild_recent,
    wild_related,
    wild_revise,
    wild_search,
    wild_status,
    wild_topics,
    wild_write,
)

CLAIM_TOOLS: tuple[Tool, ...] = (
    wild_search.TOOL,
    wild_related.TOOL,
    wild_claims.TOOL,
    wild_read.TOOL,
    wild_topics.TOOL,
    wild_friction.TOOL,
    wild_recent.TOOL,
    wild_status.TOOL,
    wild_write.TOOL,
    wild_revise.TOOL,
)
