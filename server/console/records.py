"""Records of the console: what a page is asked, what it shows, and what commands pass in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from winnow.server.console.desk import Desk

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Reports:
    """Reports that commands make, as JSON data; each is made in a thread when its page is asked for.

    ``settings``: by topic and name, the value, its source and its help. ``findings``: those of the doctor.
    ``thin``: documents of which little came into the index. ``sources``: ``watched_by`` and ``sources`` with the
    status of their paths in words. ``jobs``: the ingests that agents asked for.
    """

    settings: Callable[[], Mapping[str, Mapping[str, Mapping[str, Any]]]]
    findings: Callable[[], Awaitable[Rows]]
    thin: Callable[[], Rows]
    sources: Callable[[], Mapping[str, Any]]
    jobs: Callable[[], Rows]


@dataclass(frozen=True, slots=True)
class Asked:
    """The request for a page: the desk, the reports, and the query, of which the last value of a name counts."""

    desk: Desk
    reports: Reports
    query: Mapping[str, str]

    def text(self, name: str, default: str = "") -> str:
        """A value of the query without blanks around it."""
        return self.query.get(name, default).strip() or default

    def number(self, name: str, default: int, most: int) -> int:
        """A number of the query from 0 to ``most``; the default for anything else."""
        text = self.query.get(name, "")
        return min(int(text), most) if text.isascii() and text.isdecimal() and len(text) < _DIGITS else default

    @property
    def project(self) -> str:
        """The project that the query names, "" for the first of the settings."""
        return self.text("project")

    @property
    def scope(self) -> dict[str, Any]:
        """The argument ``scope`` of an operation, within ``{}`` or alone in it."""
        return {"scope": {"project_id": self.project}} if self.project else {}


_DIGITS = 12


@dataclass(frozen=True, slots=True)
class PageView:
    """A page before it is rendered. ``refresh_seconds``: a browser loads it again after this time, 0 for never."""

    template: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    refresh_seconds: int = 0


Answering = Callable[[Asked], Awaitable[PageView]]


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A page with its path. ``label``: its name in the navigation, "" for a page that others link to.

    ``under``: the path whose name the navigation marks for a page without a label.
    """

    path: str
    answer: Answering
    label: str = ""
    under: str = ""
