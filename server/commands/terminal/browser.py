"""Addresses opened with the program of the system for them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType

from winnow.server.errors import WinnowError

# The programs of a system that open an address; Linux and others have the last one.
_OPENERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"darwin": ("open",), "win32": ("cmd", "/c", "start", "")}
)
_USUAL_OPENER = ("xdg-open",)
_SECONDS = 30


def has_screen() -> bool:
    """Whether this session can show a window: elsewhere the usual opener may take the terminal for a browser."""
    return sys.platform in _OPENERS or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def start_browser(address: str) -> None:
    """Have a browser open an address, and do not wait: some openers end with the browser. Does nothing on failure.

    For an address that is printed as well.
    """
    opener = _OPENERS.get(sys.platform, _USUAL_OPENER)
    quiet = subprocess.DEVNULL
    with suppress(OSError):
        subprocess.Popen([*opener, address], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)


def open_address(address: str, option: str) -> None:
    """Open an address. Raises ``WinnowError("UNSUPPORTED")``, naming the option, where that fails."""
    opener = _OPENERS.get(sys.platform, _USUAL_OPENER)
    try:
        subprocess.run([*opener, address], check=True, stdin=subprocess.DEVNULL, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError):
        raise WinnowError(
            "UNSUPPORTED", f"{option}: {opener[0]} did not open it; its address: {address}"
        ) from None
