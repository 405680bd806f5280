"""The console of every command: control and invisible characters are removed from its output."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from winnow.server.text.printable import printable


class Screen(Console):
    """A rich console that cleans its output. Foreign text has to be passed with its markup escaped."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable, cleaned; colours are added afterwards."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
