"""Reads front matter (the YAML or TOML facts at the top of a page) within bounds.

YAML is read by ``server.text.markup.bounded_yaml``. As there, a number in TOML stays text if formatting it would
change its spelling.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from winnow.server.text.markup.bounded_yaml import YamlRefused, parse_yaml

_FRONT_MATTER = re.compile(
    r"\A\ufeff?(?P<fence>---|\+\+\+)[ \t]*\n(?P<facts>.*?)^(?P=fence)[ \t]*(?:\n|\Z)", re.S | re.M
)
# A longer block is text between two rules, because parsing takes time: at most 5 s for YAML of this length; for
# TOML it grows with the square of the length of a dotted key.
_LARGEST_CHARS = {"---": 64 * 1024, "+++": 16 * 1024}


class NotFrontMatter(Exception):
    """The text does not begin with front matter, though it may look like it."""


class FrontMatterRefused(Exception):
    """The front matter exceeds a bound; the message is the reason."""


def read_front_matter(text: str) -> tuple[Mapping[str, Any], int]:
    """Read the facts between the fences at the beginning of a text; returns them and the offset of the body.

    Raises ``NotFrontMatter`` or ``FrontMatterRefused``.
    """
    match = _FRONT_MATTER.match(text)
    if match is None or len(match["facts"]) > _LARGEST_CHARS[match["fence"]]:
        raise NotFrontMatter
    facts = _parse_yaml(match["facts"]) if match["fence"] == "---" else _parse_toml(match["facts"])
    if not isinstance(facts, dict):
        raise NotFrontMatter
    return facts, match.end()


def _parse_yaml(text: str) -> Any:
    try:
        return parse_yaml(text)
    except YamlRefused as error:
        raise FrontMatterRefused(str(error)) from None
    except ValueError:
        raise NotFrontMatter from None


def _parse_toml(text: str) -> Any:
    try:
        return tomllib.loads(text, parse_float=_parse_toml_float)
    except RecursionError:
        raise FrontMatterRefused("nested too deeply") from None
    except ValueError:
        raise NotFrontMatter from None


def _parse_toml_float(written: str) -> float | str:
    number = float(written)
    return number if str(number) == written else written
