"""Text limits that rooms above agree on."""

from __future__ import annotations

MAX_QUOTE_CHARS = 500
