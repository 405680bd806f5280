"""The findings of checks: those of ``winnow doctor``, and of ``winnow setup --doctor``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from winnow.server.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. ``advice`` is what to do, "" if nothing.

    ``essential`` findings decide the verdict; the others inform. ``evidence`` describes the trial that the finding
    rests on, if there was one.
    """

    group: str
    check: str
    ok: bool
    detail: str
    advice: str = ""
    essential: bool = True
    evidence: str = ""

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON data."""
        return asdict(self)


def is_healthy(findings: Sequence[Finding]) -> bool:
    """Whether all essential findings are fine."""
    return all(finding.ok for finding in findings if finding.essential)


Check = Callable[[Settings], Iterator[Finding]]
