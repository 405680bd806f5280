"""The pinned distributions of an installation: those of ``constraints.txt`` that winnow's dependencies lead to.

The file pins the tools of developers as well. What needs what is read from the metadata of the installed
distributions; one that is for other systems is known by its pin alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_PIN = re.compile(r"^([\w.-]+)==([\w.+!-]+)(?: ; ([^\\\n]+?))? ?\\?$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Pin:
    """A distribution at one version, where the marker holds, and the digests of its files."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]

    @property
    def requirement(self) -> str:
        """The pin as a requirement."""
        return f"{self.name}=={self.version}" + (f" ; {self.marker}" if self.marker else "")

    def lines(self) -> str:
        """The pin with its digests, as pip reads it."""
        return " \\\n    ".join((self.requirement, *(f"--hash=sha256:{digest}" for digest in self.hashes)))


def read_pins(file: Path) -> tuple[Pin, ...]:
    """All pins of a file, in its order."""
    blocks = re.split(r"\n(?=\w)", file.read_text("utf-8").strip())
    return tuple(_pin(block) for block in blocks)


def _pin(block: str) -> Pin:
    found = _PIN.match(block.partition("\n")[0])
    if found is None:
        raise ValueError(f"not a pin: {block.partition(chr(10))[0]!r}")
    return Pin(canonicalize_name(found[1]), found[2], found[3] or "", tuple(_HASH.findall(block)))


def needed_pins(pins: Sequence[Pin], requirements: Iterable[str]) -> tuple[Pin, ...]:
    """The pins that these requirements lead to."""
    reached = wanted_extras(pins, requirements)
    return tuple(pin for pin in pins if pin.name in reached)


def wanted_extras(pins: Sequence[Pin], requirements: Iterable[str]) -> dict[str, set[str]]:
    """Each distribution that these requirements lead to -> the extras that are wanted of it."""
    known = {pin.name for pin in pins}
    reached: dict[str, set[str]] = {}
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        extras = reached.get(name)
        if name not in known or (extras is not None and requirement.extras <= extras):
            continue
        reached[name] = (extras or set()) | requirement.extras
        waiting += needs_of(name, reached[name])
    return reached


def needs_of(name: str, extras: Iterable[str] = ()) -> Iterator[Requirement]:
    """The requirements of a distribution with these extras, on any system; none if it is not installed."""
    found = installed(name)
    for line in (found.requires or []) if found else []:
        requirement = Requirement(line)
        if requirement.marker is None or any(_is_wanted(requirement.marker, each) for each in ("", *extras)):
            yield requirement


def _is_wanted(marker: Marker, extra: str) -> bool:
    """Whether the marker can hold with this extra: parts about the system count as held."""
    asked = re.findall(r"""extra == ['"]([\w.-]+)['"]""", str(marker))
    return not asked or extra in asked


def installed(name: str) -> Distribution | None:
    """The installed distribution of this name."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def by_name(pins: Iterable[Pin]) -> Mapping[str, tuple[Pin, ...]]:
    """Name -> its pins, of which one is for this system at most."""
    found: dict[str, tuple[Pin, ...]] = {}
    for pin in pins:
        found[pin.name] = (*found.get(pin.name, ()), pin)
    return found
