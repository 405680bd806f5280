"""The store of a command that makes none: it is there, or an error names the stores that are."""

from __future__ import annotations

import shlex
from pathlib import Path

from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings, default_store
from winnow.server.storage.files import store_folder
from winnow.server.text.printable import one_line


def settings_of_store(store: str | None) -> Settings:
    """The settings with the folder of a store that there is. Raises as ``require_store`` does."""
    settings = load_settings(store=store)
    require_store(settings.store)
    return settings


def require_store(store: Path) -> None:
    """Check that the store is there. Raises ``WinnowError("NOT_FOUND")`` with the stores that there are."""
    store_folder.require_store(store, default_store())


def require_index(store: Path) -> None:
    """Check that the store has an index. Raises ``WinnowError("NOT_FOUND")`` with the stores that there are."""
    store_folder.require_index(store, default_store())


def store_option(store: Path) -> str:
    """The option with which an advised command reaches this store, after a blank; "" for the default one."""
    return "" if store == default_store() else f" --store {shlex.quote(one_line(str(store)))}"
