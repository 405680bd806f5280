"""Reads YAML within bounds.

Merge keys, which multiply at each level, are refused. Numbers that would be written otherwise stay text: ``1.20``
is a version, and the number would be 1.2. So do long numbers: one of 20,000 digits can be parsed but not
formatted, and one of 10,000 sexagesimal parts takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

_NUMBER_CHARS = 40
_DEEPEST = 50


class YamlRefused(Exception):
    """The text exceeds a bound; the message is the reason."""


def parse_yaml(text: str) -> Any:
    """The value of a YAML document; its length is for the caller to limit, because parsing takes time.

    Raises ``YamlRefused``, and ``ValueError`` with the reason for text that is not YAML.

    >>> parse_yaml("version: 1.20")
    {'version': '1.20'}
    """
    with _map_errors():
        return yaml.load(text, Loader=_Loader)


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a YAML document, which have their places in the text; None for an empty document.

    Raises as ``parse_yaml`` does; of ``YamlMisread`` the place is known.
    """
    with _map_errors():
        node: yaml.Node | None = yaml.compose(text, Loader=_Loader)
        return node


class YamlMisread(ValueError):
    """The text is not YAML; ``position`` is where that shows, ``reason`` why."""

    def __init__(self, reason: str, line: int, position: int) -> None:
        super().__init__(f"line {line}: {reason}")
        self.reason = reason
        self.position = position


@contextmanager
def _map_errors() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise YamlRefused("nested too deeply") from None
    except YamlRefused:
        raise
    except yaml.MarkedYAMLError as error:
        mark, reason = error.problem_mark, error.problem or "not YAML"
        raise (YamlMisread(reason, mark.line + 1, mark.index) if mark else ValueError(reason)) from None
    # A tag that does not fit its value (``!!bool x``) raises an exception of any type.
    except Exception:
        raise ValueError("not YAML") from None


class _Loader(yaml.SafeLoader):
    """The safe loader without merge keys, and with a limit of depth: the cost grows with the depth squared."""

    def fetch_flow_collection_start(self, token: Any) -> None:
        self._check(self.flow_level)
        super().fetch_flow_collection_start(token)

    def add_indent(self, column: int) -> bool:
        self._check(len(self.indents))
        return bool(super().add_indent(column))

    def _check(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise YamlRefused("nested too deeply")

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            raise YamlRefused("merge keys (<<) are not supported")
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
