"""Runs untrusted Python. Has no knowledge base, tokenizer or MCP: the caller supplies what a script may call.

    async with Sandbox() as sandbox:
        outcome = await sandbox.run("return sum(range(10))")

The names below are imported on first use: the fork server imports this package, too, and each of its children
carries all that it has imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from winnow.sandbox.parent.sandbox import Sandbox, probe
    from winnow.sandbox.protocol.limits import Layers, Limits
    from winnow.sandbox.protocol.outcome import (
        CallError,
        CountTokens,
        HostCall,
        Outcome,
        Reply,
        SandboxUnavailable,
        ScriptError,
        Status,
        Usage,
        WallReport,
        Walls,
    )
    from winnow.sandbox.runners.availability import looks_possible

__all__ = [
    "CallError",
    "CountTokens",
    "HostCall",
    "Layers",
    "Limits",
    "Outcome",
    "Reply",
    "Sandbox",
    "SandboxUnavailable",
    "ScriptError",
    "Status",
    "Usage",
    "WallReport",
    "Walls",
    "looks_possible",
    "probe",
]

_HOMES = {
    "Layers": "protocol.limits",
    "Limits": "protocol.limits",
    "Sandbox": "parent.sandbox",
    "looks_possible": "runners.availability",
    "probe": "parent.sandbox",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'protocol.outcome')}"), name)
