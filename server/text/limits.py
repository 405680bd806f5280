"""Limits of texts that several rooms share."""

from __future__ import annotations

MAX_QUOTE_CHARS = 500
