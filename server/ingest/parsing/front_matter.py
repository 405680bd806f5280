"""Front matter: the facts at the top of a page, in YAML or TOML, within bounds.

YAML is read without merge keys, which multiply at each level, and its numbers are of bounded length: one of 20,000
digits can be read but not written, and one of 10,000 sexagesimal parts takes minutes. A longer number is text.
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
# Longer is text between two rules. The readers of both take time: of YAML at most 5 s for this; that of TOML grows
# with the square of a dotted key.
_LARGEST_CHARS = {"---": 64 * 1024, "+++": 16 * 1024}
_NUMBER_CHARS = 40
_DEEPEST = 50


class NotFrontMatter(Exception):
    """The text does not begin with front matter, though it may look like it."""


class FrontMatterRefused(Exception):
    """What stands there is front matter, and beyond its bounds; the message is the reason."""


def split_front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """The facts between the fences, and the text after. Raises ``NotFrontMatter`` or ``FrontMatterRefused``."""
    match = _FRONT_MATTER.match(text)
    if match is None or len(match["facts"]) > _LARGEST_CHARS[match["fence"]]:
        raise NotFrontMatter
    facts = _yaml(match["facts"]) if match["fence"] == "---" else _toml(match["facts"])
    if not isinstance(facts, dict):
        raise NotFrontMatter
    return facts, text[match.end() :]


def _yaml(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except RecursionError:
        raise FrontMatterRefused("nested too deeply") from None
    except FrontMatterRefused:
        raise
    # A tag that does not fit its value (``!!bool x``) raises whatever the constructor stumbles over.
    except Exception:
        raise NotFrontMatter from None


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise FrontMatterRefused("nested too deeply") from None
    except ValueError:
        raise NotFrontMatter from None


class _Loader(yaml.SafeLoader):
    """The safe loader without what grows beyond its text, or with the square of its depth."""

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
            raise FrontMatterRefused("merge keys (<<) are not read")
        super().flatten_mapping(node)


def _number(kind: str) -> Any:
    construct = getattr(yaml.SafeLoader, f"construct_yaml_{kind}")

    def bounded(loader: _Loader, node: yaml.ScalarNode) -> Any:
        value = str(loader.construct_scalar(node))
        return construct(loader, node) if len(value) <= _NUMBER_CHARS else value

    return bounded


for _kind in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _number(_kind))
