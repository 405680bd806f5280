"""``winnow bench``: speed and tokens on this host. Each subject is one module; this is the table of them.

What only maintainers measure is in ``tests/bench`` and not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from winnow.server.commands.bench import sandbox, search, tokens
from winnow.server.commands.terminal.output import command, examples


class Subject(Protocol):
    """A module with one command: its examples, and ``run``, whose signature and docstring are its help."""

    EXAMPLES: str

    @property
    def run(self) -> Callable[..., None]:
        """Measure, and print the figures."""


# subject -> its module; the order is the order of `winnow bench --help`
SUBJECTS: Mapping[str, Subject] = MappingProxyType(
    {
        "sandbox": sandbox,
        "search": search,
        "tokens": tokens,
    }
)

app = command(
    no_args_is_help=True,
    epilog=examples("winnow bench sandbox", "winnow bench search --project notes", "winnow bench tokens --json"),
)


@app.callback()
def subjects() -> None:
    """Measure speed on this host, and the tokens that answers cost."""


for _name, _subject in SUBJECTS.items():
    app.command(_name, epilog=_subject.EXAMPLES)(_subject.run)
