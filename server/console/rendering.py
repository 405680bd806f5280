"""Templates to HTML: Jinja with every inserted value escaped, and the formats of numbers and times."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache, partial
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from winnow import __version__
from winnow.server import DATA
from winnow.server.console.records import PageRoute, PageView

TEMPLATES = DATA / "console"


def renderer(pages: Sequence[PageRoute], project: str, root: str = "") -> Callable[[PageView, str], str]:
    """A function from a view and the path of its page to HTML.

    ``project`` is named on each page. ``root``: the path under which all pages are, which their links begin with.
    """
    labelled = [(page.path, page.label) for page in pages if page.label]
    marked = {page.path: page.under or page.path for page in pages}

    def render(view: PageView, path: str = "") -> str:
        around = {
            "title": view.title,
            "refresh_seconds": view.refresh_seconds,
            "navigation": labelled,
            "current": marked.get(path, ""),
            "served": project,
            "version": __version__,
            "link": partial(_link_under, root),
        }
        page = _environment().get_template(view.template).render({**view.values, **around})
        # A path may have bytes that are no UTF-8, which no page can have: they are shown as escapes.
        return page.encode("utf-8", "backslashreplace").decode("utf-8")

    return render


class _Omitted(StrictUndefined):
    """A field that an answer omits because it has no value: it may be asked for, and is false; not shown."""

    __slots__ = ()

    def __bool__(self) -> bool:  # type: ignore[override]
        return False


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=_Omitted,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters |= {"number": _number, "time": _time, "pretty": pretty}
    return environment


def pretty(value: Any) -> str:
    """A value as indented JSON."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def link(path: str, /, **query: Any) -> str:
    """A path with a query of the values that are not empty.

    >>> link("/page", passage_id="a&b", page=None)
    '/page?passage_id=a%26b'
    """
    given = {name: value for name, value in query.items() if value not in (None, "", 0)}
    return f"{path}?{urlencode(given, errors='replace')}" if given else path


def _link_under(root: str, path: str, /, **query: Any) -> str:
    return root + link(path, **query)


def _finalize(value: Any) -> Any:
    """The text that is inserted for a value: nothing for None."""
    return "" if value is None else value


def _number(value: float) -> str:
    return f"{value:,}"


def _time(text: str) -> str:
    """A time of ISO 8601 to the second, as it was written if it is none."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return text
