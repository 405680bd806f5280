"""Reads front matter (the YAML or TOML facts at the top of a page) within bounds.

YAML is read without merge keys, which multiply at each level. Numbers that would be written otherwise stay text:
``1.20`` is a version, and the number would be 1.2. So do long numbers: one of 20,000 digits can be parsed but not
formatted, and one of 10,000 sexagesimal parts takes minutes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import yaml

_FRONT_MATTER = re.compile(
    r"\A\ufeff?(?P<fence>---|\+\+\+)[ \t]*\n(?P<facts>.*?)^(?P=fence)[ \t]*(?:\n|\Z)", re.S | re.M
)
# A longer block is text between two rules, because parsing takes time: at most 5 s for YAML of this length; for
# TOML it grows with the square of the length of a dotted key.
_LARGEST_CHARS = {"---": 64 * 1024, "+++": 16 * 1024}
_NUMBER_CHARS = 40
_DEEPEST = 50


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
        return yaml.load(text, Loader=_Loader)
    except RecursionError:
        raise FrontMatterRefused("nested too deeply") from None
    except FrontMatterRefused:
        raise
    # A tag that does not fit its value (``!!bool x``) raises an exception of any type.
    except Exception:
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


class _Loader(yaml.SafeLoader):
    """The safe loader without merge keys and with a limit of depth, whose cost grows with its square."""

    def fetch_flow_collection_start(self, token: Any) -> None:
        self._check(self.flow_level)
        super().fetch_flow_collection_start(token)

    def add_indent(self, column: int) -> bool:
        self._check(len(self.indents))
        return bool(super().add_indent(column))

    def _check(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise FrontMatterRefused("nested too deeply")

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            raise FrontMatterRefused("merge keys (<<) are not supported")
        super().flatten_mapping(node)


def _number_constructor(kind: str) -> Any:
    construct = getattr(yaml.SafeLoader, f"construct_yaml_{kind}")

    def construct_number(loader: _Loader, node: yaml.ScalarNode) -> Any:
        written = str(loader.construct_scalar(node))
        number = construct(loader, node) if len(written) <= _NUMBER_CHARS else None
        return number if str(number) == written else written

    return construct_number


for _kind in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _number_constructor(_kind))
