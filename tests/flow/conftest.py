"""What a server with default settings lists."""

from __future__ import annotations

import pytest

from server.app import Application, knowledge_base
from server.settings import Settings
from server.tools import TOOLS


@pytest.fixture
def listed(settings: Settings) -> list[str]:
    """The tools in their order, on a host with every wall."""
    application = Application(settings, knowledge_base(settings, wait_for_model=False))
    context = application.context("", _silent)
    offered = [tool.name for tool in TOOLS if tool.name == "execute_code" or tool.offered(context)]
    return [name.replace(".", "_") for name in offered]


async def _silent(seconds: float, message: str) -> None:
    """Progress nobody asked for."""
