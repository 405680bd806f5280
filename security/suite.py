"""Reads the attacks of ``security/attacks``, each with the ways it may end behind each half of the sandbox.

An attack is a small program that prints BREACHED when it achieved its goal. Its first line lists the statuses in
which it may end behind each half alone. ``-`` stands for a half that does not claim to stop this attack; at least
one half must claim it::

    # fence: rejected | walls: error/crashed

Further parts, each with a default:

    | both: STATUS/...       behind both; default: as for the fence, or the walls where the fence claims nothing
    | limits: NAME=N ...     lower limits than `LIMITS`, by the names of `sandbox.Limits`
    | host: may refuse       some hosts, such as containers, refuse it to every process: there it proves nothing
    | source: computed       the rest of the file is an expression whose value is the program: for programs that no
                             editor should open and no installer should compile

``ok`` is claimed where an attack runs to its end and harms nothing. On plain Python every attack must succeed
(control.py): an attack that fails there proves nothing about the sandbox.

Attacks on a surface outside the sandbox
----------------------------------------

Other families of the same audit attack ingested files, transports, settings and rendered text. Such a program
defines two functions without parameters, each of which returns whether the attack achieved its goal::

    # surface: held | seconds: 120
    # A title of 20,000 digits stops the ingest of the files beside it.
    from pathlib import Path
    from winnow.security.surface import winnow

    def control():    # the same attack on an unprotected equivalent: it must succeed
        return ...

    def surface():    # on the product: it must not
        Path("documents").mkdir()
        ...
        return winnow("ingest", "documents", "--store", "store").returncode != 0

Each is called once, in a process and an empty working folder of its own (surface.py); both are gone afterwards.
``control`` must return True within the time and ``surface`` False; an exception in ``surface`` is a violation as
well. ``seconds`` is the time limit of each, 300 by default. Programs drive the product by its command line
(`security.surface.winnow`) or import what they attack; they listen on loopback only, on a port that the system
chooses, and leave no process behind. What several attacks share is in loopback_servers.py (transports),
console_server.py (the console), loopback_listener.py (settings that name a server),
settings_files.py (settings files that stop a command),
bomb_ingest.py (hostile files), tool_packs.py, project_archives.py, backups.py, citation_target.py,
prompt_folder.py and two_projects.py. An unprotected equivalent is a few lines of what the product would do
without the protection: ``yaml.safe_load`` of the same file, a server that checks no Host, a ``print`` of the
same name.
A new family needs a row under "Threats" in security/threat-model.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from winnow.sandbox import Layers, Limits, Outcome, Status

ATTACKS_FOLDER = Path(__file__).parent / "attacks"
BREACHED = "BREACHED"
LIMITS = Limits(wall_seconds=10.0)

# The halves of the sandbox that are in force in each mode.
LAYERS: Mapping[str, Layers] = MappingProxyType(
    {"fence": Layers(walls=False), "walls": Layers(fence=False), "both": Layers()}
)

_NOT_CLAIMED = "-"
# A cancelled call, or a machine without a sandbox, says nothing about an attack.
_VERDICTS = frozenset(get_args(Status)) - {"cancelled", "unavailable"}
_PARTS = ("fence", "walls", "both", "limits", "host", "source")
_SURFACE_PARTS = ("surface", "seconds")
_SURFACE_SECONDS = 300.0
_MAX_SECONDS = 300.0
_MAY_REFUSE = "may refuse"
HELD = "held"  # how an attack on a surface must end


class SuiteError(Exception):
    """An attack's first line is malformed."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One program, and the statuses it may end in for each mode; a missing mode claims nothing.

    ``is_script``: the program is a script for the sandbox. Others attack a surface outside it, and ``seconds`` is
    the time limit of each of their functions. ``host_may_refuse``: it may fail without a sandbox, too.
    """

    family: str
    name: str
    source: str
    verdicts: Mapping[str, tuple[str, ...]]
    limits: Limits = LIMITS
    is_script: bool = True
    seconds: float = _SURFACE_SECONDS
    host_may_refuse: bool = False

    def __str__(self) -> str:
        return f"{self.family}/{self.name}"


def read_attacks(folder: Path = ATTACKS_FOLDER) -> Iterator[Attack]:
    """All attacks, by family and name. SuiteError names a malformed file."""
    for path in sorted(folder.glob("*/*.py")):
        try:
            yield parse_attack(path.parent.name, path.stem, path.read_text(encoding="utf-8"))
        except SuiteError as error:
            raise SuiteError(f"{path}: {error}") from None


def parse_attack(family: str, name: str, text: str) -> Attack:
    """Parse one attack from the text of its file."""
    first_line, _, rest = text.partition("\n")
    if first_line.startswith("# surface:"):
        parts = _split_parts(first_line, _SURFACE_PARTS)
        return _parse_surface_attack(family, name, text, parts)
    parts = _split_parts(first_line, _PARTS)
    if list(parts)[:2] != ["fence", "walls"]:
        raise SuiteError("the first line does not speak for both the fence and the walls")
    verdicts = {half: _parse_verdict(parts[half]) for half in ("fence", "walls") if parts[half] != _NOT_CLAIMED}
    if not verdicts:
        raise SuiteError("neither half claims to stop this")
    verdicts["both"] = _parse_verdict(parts["both"]) if "both" in parts else next(iter(verdicts.values()))
    source = _evaluate(rest) if _is_computed(parts) else text
    if parts.get("host", _MAY_REFUSE) != _MAY_REFUSE:
        raise SuiteError(f"a host {_MAY_REFUSE!r}, or this part is left out")
    limits = _parse_limits(parts.get("limits", ""))
    return Attack(family, name, source, MappingProxyType(verdicts), limits, host_may_refuse="host" in parts)


def _parse_surface_attack(family: str, name: str, text: str, parts: Mapping[str, str]) -> Attack:
    if parts["surface"] != HELD:
        raise SuiteError(f"an attack on a surface claims {HELD!r}")
    try:
        seconds = float(parts.get("seconds", _SURFACE_SECONDS))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MAX_SECONDS:
        raise SuiteError(f"seconds is a number above 0 and at most {_MAX_SECONDS:.0f}")
    verdicts = MappingProxyType({"both": (HELD,)})
    return Attack(family, name, text, verdicts, is_script=False, seconds=seconds)


def _split_parts(line: str, known: Sequence[str]) -> dict[str, str]:
    if not line.startswith("# "):
        raise SuiteError("the first line is not of the form '# fence: STATUS | walls: STATUS'")
    pairs = [part.split(":") for part in line.removeprefix("# ").split("|")]
    names = [pair[0].strip() for pair in pairs]
    if names != [name for name in known if name in names] or {len(pair) for pair in pairs} != {2}:
        raise SuiteError(f"the first line has other parts than {', '.join(known)}, each once, in this order")
    return {name: pair[1].strip() for name, pair in zip(names, pairs, strict=True)}


def _parse_verdict(text: str) -> tuple[str, ...]:
    statuses = tuple(text.split("/"))
    if unknown := [status for status in statuses if status not in _VERDICTS]:
        raise SuiteError(f"no outcome ends as {unknown[0]!r}; there are {', '.join(sorted(_VERDICTS))}")
    return statuses


def _parse_limits(text: str) -> Limits:
    usual, asked = asdict(LIMITS), {}
    for pair in text.split():
        name, _, number = pair.partition("=")
        if name not in usual:
            raise SuiteError(f"there is no limit {name!r}")
        try:
            asked[name] = type(usual[name])(number)
        except ValueError:
            raise SuiteError(f"{number!r} is no value for {name}") from None
        if not 0 < asked[name] <= usual[name]:
            raise SuiteError(f"{name} is above 0 and at most {usual[name]}: limits are only lowered")
    return replace(LIMITS, **asked)


def _is_computed(parts: Mapping[str, str]) -> bool:
    if parts.get("source", "computed") != "computed":
        raise SuiteError("a source is 'computed', or this part is left out")
    return "source" in parts


def _evaluate(expression: str) -> str:
    source: Any = eval(expression, {})
    if not isinstance(source, str):
        raise SuiteError("the expression is not a text")
    return source


def has_breached(outcome: Outcome) -> bool:
    """Whether the attack succeeded; text printed before a failure counts as well."""
    texts = (outcome.stdout, str(outcome.result), outcome.error.message if outcome.error else "")
    return any(BREACHED in text for text in texts)
