"""The console of every command: nothing reaches it that a terminal would act upon or a person cannot see."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from server.text.printable import printable


class Screen(Console):
    """A rich console that cleans what it prints. Text from elsewhere goes in with its markup escaped."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of something, cleaned; colours are added to them afterwards."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
