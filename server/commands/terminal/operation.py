"""Operations of the knowledge base, called and printed on the shell."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING, Any

from winnow.server.commands.terminal.links import add_urls
from winnow.server.commands.terminal.output import print_json, print_lines, print_to_stderr
from winnow.server.errors import WinnowError
from winnow.server.settings.project_settings import join_names
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.store_folder import CATALOGUE
from winnow.server.text.framing import frame_answer

if TYPE_CHECKING:
    from winnow.server.operations.knowledge import Knowledge


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
    print_answer(lines(payload), payload)
    print_to_stderr(*(f"warning: {warning}" for warning in warnings))


def print_answer(lines: Sequence[str], payload: Mapping[str, Any]) -> None:
    """Print an answer; the notice about lines of documents is for models, which do not read at a terminal."""
    print_lines(*(lines if sys.stdout.isatty() else frame_answer(lines, payload)))


async def _answer(
    settings: Settings, operation: str, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    async with knowledge_of(settings) as kb:
        answer = await kb.call(operation, arguments, kb.caller("shell"))
        return answer.payload, answer.warnings


@asynccontextmanager
async def knowledge_of(settings: Settings) -> AsyncIterator[Knowledge]:
    """The open knowledge base of an existing store.

    Raises as ``require_index`` and ``Knowledge.call`` do. The error for a project without documents names those of
    the store that have some: who has a shell may name any of them, and a client of a server may not.
    """
    from winnow.server.commands.entry.knowledge import open_knowledge
    from winnow.server.commands.terminal.stores import require_index

    require_index(settings.store)
    kb = open_knowledge(settings, wait_for_model=True)
    try:
        await kb.open()
        yield kb
    except WinnowError as error:
        raise _name_projects(settings, error) from None
    finally:
        await kb.aclose()


def _name_projects(settings: Settings, error: WinnowError) -> WinnowError:
    if error.reason != "INVALID_PROJECT":
        return error
    return find_empty_project(settings) or error


def find_empty_project(settings: Settings) -> WinnowError | None:
    """The error for a project without documents, where others of the store have some; None for any other."""
    from winnow.server.backends.catalogue import Catalogue

    path = settings.store / CATALOGUE  # its stores of vectors and graphs are an engine's to load
    if not path.exists():
        return None
    with closing(Catalogue(path)) as catalogue:
        names = [info.name for info in catalogue.projects()]
        is_hidden = bool(catalogue.project_state(settings.project))
    is_usual = is_hidden or not names or settings.project in names
    return None if is_usual else unknown_project(settings, names)


def unknown_project(settings: Settings, names: Sequence[str]) -> WinnowError:
    """The error for a project without documents in a store whose projects with documents are ``names``."""
    return WinnowError(
        "INVALID_PROJECT",
        f"project {settings.project!r} has no documents; projects of this store that have some: "
        f"{join_names(names)}. Name one, as in --project {names[0]}, or index some with: winnow ingest PATH "
        f"--project {settings.project}",
    )
