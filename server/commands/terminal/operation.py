"""One operation of the knowledge base, called and printed on the shell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from server.commands.terminal.links import add_urls
from server.commands.terminal.output import print_json, print_lines, print_to_stderr
from server.settings import Settings
from server.text.framing import frame_answer


def run_operation(
    settings: Settings,
    operation: str,
    arguments: Mapping[str, Any],
    lines: Callable[[dict[str, Any]], list[str]],
    *,
    as_json: bool,
    linked: tuple[str, str] | None = None,
) -> None:
    """Call the operation and print its payload as an agent reads it, or as JSON; warnings go to stderr.

    ``linked`` are the field of the payload's rows and that of the id of their passages: rows get ``url`` then.
    """
    payload, warnings = asyncio.run(_answer(settings, operation, arguments))
    if linked is not None:
        add_urls(settings, payload[linked[0]], linked[1])
    if as_json:
        print_json({**payload, "warnings": list(warnings)})
        return
    print_lines(*frame_answer(lines(payload), payload))
    print_to_stderr(*(f"warning: {warning}" for warning in warnings))


async def _answer(
    settings: Settings, operation: str, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    from server.app import open_knowledge
    from server.backends.files.store_folder import require_index

    require_index(settings.store)
    kb = open_knowledge(settings, wait_for_model=True)
    try:
        await kb.open()
        answer = await kb.call(operation, arguments, kb.caller("shell"))
        return answer.payload, answer.warnings
    finally:
        await kb.aclose()
