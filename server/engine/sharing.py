"""Whether a process works with the engine of a store. Small: commands ask before they import anything large."""

from __future__ import annotations

from winnow.server.engine import endpoint
from winnow.server.settings.settings import Settings


def shares_engine(settings: Settings) -> bool:
    """Whether these settings ask for an engine and the system supports it."""
    return settings.daemon == "on" and endpoint.is_supported()


def has_engine(settings: Settings) -> bool:
    """Whether these settings ask for an engine and one is running."""
    return shares_engine(settings) and endpoint.is_listening(settings.store)
