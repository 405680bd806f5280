"""Applications that ask an engine for their store, as those of most users do, and do not open it themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from winnow.security.suite import Attack
from winnow.server.commands.entry import app, knowledge
from winnow.server.engine.client import query_engine

# What follows an attack on a surface, so that the applications that it opens ask an engine.
_AROUND_SURFACE = """

from tests.over_engine import over_engines as _over_engines

_surface_alone = surface


def surface():
    with _over_engines():
        return _surface_alone()
"""


@contextmanager
def over_engines() -> Iterator[None]:
    """Each application that is opened in it starts an engine, whatever its settings say; engines end with it."""
    opened, stores = knowledge.open_knowledge, set[Path]()

    def open_over_engine(settings: Any, **options: Any) -> Any:
        stores.add(settings.store)
        return opened(settings.model_copy(update={"daemon": "on"}), **{**options, "starts_engine": True})

    with pytest.MonkeyPatch.context() as patch:
        for module in (app, knowledge):
            patch.setattr(module, "open_knowledge", open_over_engine)
        try:
            yield
        finally:
            for store in filter(Path.exists, stores):
                asyncio.run(query_engine(store, "stop"))


def attack_over_engines(attack: Attack) -> Attack:
    """The attack on a surface, with applications that ask an engine."""
    return replace(attack, source=attack.source + _AROUND_SURFACE)
