"""What a tool is: a value. One file per tool in this folder, each with one ``TOOL``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from server.knowledge import KnowledgeBase
from server.scripts import Scripts
from server.settings import Settings


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler may use while it answers one call.

    ``client`` is whoever calls: an HTTP session, or the one client of a pipe. ``progress`` takes seconds elapsed
    and a line for people; it does nothing where the client did not ask.
    """

    kb: KnowledgeBase
    scripts: Scripts
    settings: Settings
    client: str
    progress: Callable[[float, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Result:
    """What a handler answers: the structured payload (without meta) and the same as one dense text.

    ``summary`` is its first line alone. ``failed`` marks a payload that is itself an error the model can act on.
    """

    payload: dict[str, Any]
    text: str
    summary: str
    warnings: tuple[str, ...] = ()
    cache_hit: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a client sees it, and the handler behind it.

    ``name`` is canonical (dots allowed); the wire lists underscores. ``offered`` says whether this server can
    serve it at all: a tool that cannot work is not listed. ``worded`` fits the description to the settings.
    """

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    answer: type[BaseModel]
    handler: Callable[[Context, dict[str, Any]], Awaitable[Result]]
    read_only: bool = True
    open_world: bool = False
    idempotent: bool = True
    destructive: bool = False
    offered: Callable[[Context], bool] = lambda context: True
    worded: Callable[[str, Settings], str] = lambda description, settings: description
