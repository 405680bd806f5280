"""Charts of Office Open XML files as tables of their values.

A chart has a copy of the cells that it is drawn from (ECMA-376 part 1, 21.2: ``strCache`` and ``numCache``), so
that it can be shown without them. Each series is a column, each category a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from winnow.server.readers.common.bounded_xml import attribute, children, descendants, find, local_name
from winnow.server.readers.common.markdown_draft import one_line, table
from winnow.server.readers.common.open_xml import texts

_MOST_SERIES, _MOST_ROWS = 20, 200
_CACHES = frozenset({"strCache", "numCache", "strLit", "numLit"})


def chart_table(root: Element) -> str:
    """The title and the values of a chart as Markdown; "" for a chart without a copy of its values.

    At most 20 series and 200 categories.
    """
    series = list(descendants(root, "ser"))[:_MOST_SERIES]
    names = [" ".join(_cached(one, "tx").values()) for one in series]
    values = [_cached(one, "val", "yVal") for one in series]
    if not any(values):
        return ""
    categories = next(filter(None, (_cached(one, "cat", "xVal") for one in series)), {})
    numbers = sorted({number for column in (categories, *values) for number in column})[:_MOST_ROWS]
    rows = [[categories.get(number, ""), *(column.get(number, "") for column in values)] for number in numbers]
    title = find(root, "chart", "title")
    heading = one_line(texts(title, "t")) if title is not None else ""
    return "\n\n".join(filter(None, (f"Chart: {heading}" if heading else "Chart:", table([["", *names], *rows]))))


def _cached(series: Element, *names: str) -> Mapping[int, str]:
    """The copied cells of the first of these parts of a series, by their numbers."""
    part = next((part for name in names for part in children(series, name)), None)
    caches = () if part is None else (each for each in part.iter() if local_name(each) in _CACHES)
    cells: dict[int, str] = {}
    for point in (point for cache in caches for point in children(cache, "pt")):
        number = attribute(point, "idx")
        if number.isascii() and number.isdigit() and len(number) < 7:
            cells.setdefault(int(number), one_line(texts(point, "v")))
    return cells
