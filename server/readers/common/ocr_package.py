"""Whether the package that reads pages and images by OCR is installed, without importing it."""

from __future__ import annotations

from importlib.util import find_spec

PACKAGE = "rapidocr"
_INSTALL = "pip install 'winnow-mcp[ocr]'"
NOT_INSTALLED = f"OCR is not installed: {_INSTALL}"


def is_installed() -> bool:
    """Whether the package is there."""
    return find_spec(PACKAGE) is not None


def advise(use: str) -> str:
    """The advice to use OCR, with the command that installs it where it is missing."""
    return use if is_installed() else f"{use} (OCR is not installed; first: {_INSTALL})"
