"""Styles of office documents: the chain of styles that a style is based on, and why text in a style is hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from xml.etree.ElementTree import Element

from winnow.server.models import HiddenReason

_LONGEST_CHAIN = 20  # a damaged file may have a cycle of styles


def style_chain(
    styles: Mapping[str, Element], name: str, parent_of: Callable[[Element], str]
) -> Iterator[Element]:
    """The style of this name and the styles that it is based on; ``parent_of`` returns the name of the next."""
    for _ in range(_LONGEST_CHAIN):
        style = styles.get(name)
        if style is None:
            return
        yield style
        name = parent_of(style)


def why_hidden(*, is_set: bool, is_tiny: bool, is_like_ground: bool) -> HiddenReason | None:
    """Why a person does not see text of this look; None for text that is seen.

    ``is_set``: it has the property of hidden text. ``is_like_ground``: it has the color of what is below it.
    """
    if is_set:
        return "set as hidden"
    if is_tiny:
        return "too small"
    return "colour of its background" if is_like_ground else None
