"""Styles of office documents that are based on one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from xml.etree.ElementTree import Element

_LONGEST_CHAIN = 20  # a damaged file may have a circle of styles


def style_chain(
    styles: Mapping[str, Element], name: str, parent_of: Callable[[Element], str]
) -> Iterator[Element]:
    """The style of this name and those that it is based on; ``parent_of`` gives the name of the next one."""
    for _ in range(_LONGEST_CHAIN):
        style = styles.get(name)
        if style is None:
            return
        yield style
        name = parent_of(style)
