"""One operation of the knowledge base, asked from the shell and told there."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any

from server.commands.output import print_json
from server.settings import Settings


def asked(
    settings: Settings,
    operation: str,
    arguments: Mapping[str, Any],
    lines: Callable[[dict[str, Any]], list[str]],
    *,
    as_json: bool,
) -> None:
    """Ask, and print the payload as an agent would read it, or as JSON; warnings go to stderr."""
    payload, warnings = asyncio.run(_answer(settings, operation, arguments))
    if as_json:
        print_json({**payload, "warnings": list(warnings)})
        return
    sys.stdout.write("\n".join(lines(payload)) + "\n")
    sys.stderr.writelines(f"warning: {warning}\n" for warning in warnings)


async def _answer(
    settings: Settings, operation: str, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    from server.app import knowledge

    kb = knowledge(settings, wait_for_model=True)
    try:
        answer = await kb.call(operation, arguments, kb.caller("shell"))
        return answer.payload, answer.warnings
    finally:
        await kb.aclose()
