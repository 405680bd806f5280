"""The resources that raising the walls of one child needs: its limits, its profile, its descriptors."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from winnow.sandbox.protocol.limits import Limits

from .profiles import DOCUMENT, RPC, SCRIPT, Profile


@dataclass(slots=True)
class WallResources:
    """The descriptors and numbers that raising walls needs; the fork server collects them before /proc is gone."""

    limits: Limits
    profile: Profile = SCRIPT
    rpc: int = RPC
    document: int = -1  # of a reader; /dev/null takes its place where there is none
    null: int = -1
    ruleset: int = -1
    filter: bytes = b""
    address_space: int = 0  # bytes the warm fork server itself has mapped
    host_namespaces: dict[str, str] = field(default_factory=dict)

    def with_rpc(self, rpc: int, limits: Limits, document: int = -1) -> WallResources:
        """The resources for one child, with its channel, its limits and the file that it reads."""
        return replace(self, rpc=rpc, limits=limits, document=document)

    def place_descriptors(self) -> WallResources:
        """Move the child's descriptors to the numbers that the filter knows; returns the resources with those."""
        document = self.null if self.document < 0 else self.document
        if self.rpc != RPC or (self.profile.reads_file and document != DOCUMENT):
            rpc, document = os.dup(self.rpc), os.dup(document)  # one may have the number of the other
            os.dup2(rpc, RPC)
            if self.profile.reads_file:
                os.dup2(document, DOCUMENT)
        return replace(self, rpc=RPC, document=DOCUMENT)
