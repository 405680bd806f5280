"""A script's source text: the file name that it is compiled under, and its lines."""

from __future__ import annotations

import re

FILE_NAME = "<script>"


def split_lines(source: str) -> list[str]:
    """The lines as Python counts them: form feeds and Unicode separators do not end a line."""
    return re.split(r"\r\n?|\n", source)
