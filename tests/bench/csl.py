"""Bibliographies: how entries are read and written, against pandoc's reading and its citeproc.

    python -m tests.bench.csl a.bib b.bib --entries 150 --seed 7 --json csl.json

Entries are chosen by a seed, one of each type in turn; keys that a file uses twice are left out. ``fields``: each
field of CSL that winnow or pandoc reads from an entry, compared as text without markup. ``styles``: the list of
references of the chosen works in each style, by winnow and by ``pandoc --citeproc`` from the same CSL-JSON and the
same files of styles, so that a difference is one of the processors; lines in place of repeated names are switched
off, because winnow hands out entries one by one. What differs is counted by its kind; the table has the first of
each. Files that state dates as ``date`` are read as BibLaTeX.
"""

from __future__ import annotations

import html
import json
import random
import re
import shutil
import subprocess
import tempfile
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from tests.bench.command_line import command_line
from winnow.server.bibliographies.citing import csl_fields
from winnow.server.bibliographies.csl_styles import STYLES, write
from winnow.server.bibliographies.reading import read_bibliography
from winnow.server.bibliographies.records import LibraryItem
from winnow.server.commands.terminal.output import print_lines, report_errors
from winnow.server.errors import WinnowError

EXAMPLES = (
    "Examples: python -m tests.bench.csl library.bib | "
    "python -m tests.bench.csl *.bib --entries 150 --seed 7 --json csl.json"
)
COMPARED_STYLES = ("apa", "chicago", "ieee", "mla", "harvard")
_NO_PANDOC = "pandoc is not on PATH; install it (the package pandoc) and run this again"
_SECONDS = 300
_TYPE = re.compile(r"^[ \t]*@(\w+)[ \t\n]*[{(][ \t\n]*([^\s,{}()]+)[ \t\n]*,", re.MULTILINE)
_NO_ENTRIES = frozenset({"string", "comment", "preamble", "set", "xdata", "control", "ieeetranbstctl"})
_MARKUP = re.compile(r"</?(?:i|b|em|strong|sup|sub|sc|span|a|div)\b[^<>]*>")
_DIVISION = re.compile(
    r'<div id="ref-[^"]*" class="csl-entry"[^>]*>(.*?)</div>\s*(?=<div id="ref-|</div>\s*\Z)', re.S
)
_NUMBER = re.compile(r"\A\s*(?:\[\d+\]|\d+\.)\s*")
_SIGNS = str.maketrans({**dict.fromkeys("–—‐‑−", "-"), **dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’`", "'")})
_DROPPED = ("type", "id")
# What pandoc has as fields, and winnow elsewhere or not at all on purpose.
_NOT_COMPARED = frozenset({"abstract", "keyword", "annote", "note"})


@dataclass(slots=True)
class Differences:
    """Comparisons by kind: how many, and the first examples of each."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, kind: str, example: str = "") -> None:
        self.counts[kind] += 1
        if example and len(self.examples[kind]) < 1_000:
            self.examples[kind].append(example)

    @property
    def facts(self) -> dict[str, Any]:
        """The counts and examples as JSON data."""
        return {
            "compared": sum(self.counts.values()),
            "kinds": dict(self.counts.most_common()),
            "examples": dict(self.examples),
        }


def run(
    bibliographies: Annotated[list[Path], typer.Argument(help="files of BibTeX or BibLaTeX")],
    entries: Annotated[int, typer.Option("--entries", min=1, max=10_000, help="how many to choose")] = 150,
    seed: Annotated[int, typer.Option("--seed", help="chooses the entries")] = 1,
    shown: Annotated[int, typer.Option("--shown", min=0, max=1_000, help="examples of each kind")] = 3,
    as_json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write the figures there")] = None,
) -> None:
    """Compare bibliographies with pandoc's reading and its citeproc."""
    with report_errors(as_json=False):
        if shutil.which("pandoc") is None:
            raise WinnowError("SOURCE_UNAVAILABLE", _NO_PANDOC)
        ours, theirs, types = choose(bibliographies, entries, seed)
        fields = compare_fields(ours, theirs)
        works = [{"id": key, **csl_fields(item)} for key, item in ours.items()]
        styles = {style: compare_style(style, works) for style in COMPARED_STYLES}
    print_lines(
        f"{len(ours)} entries of {len(types)} types: {', '.join(f'{n} {t}' for t, n in types.most_common())}"
    )
    for name, differences in {"fields": fields, **styles}.items():
        print_lines(*_table(name, differences, shown))
    if as_json:
        facts = {
            "entries": len(ours),
            "types": dict(types.most_common()),
            "fields": fields.facts,
            "styles": {style: differences.facts for style, differences in styles.items()},
        }
        as_json.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _table(name: str, differences: Differences, shown: int) -> Iterator[str]:
    compared = sum(differences.counts.values())
    yield f"{name}: {differences.counts['equal']} of {compared} equal"
    for kind, count in differences.counts.most_common():
        if kind != "equal":
            yield f"  {count:5} {kind}"
            yield from (f"          {example}" for example in differences.examples[kind][:shown])


# --- which entries


def choose(
    paths: Sequence[Path], count: int, seed: int
) -> tuple[dict[str, LibraryItem], dict[str, Mapping[str, Any]], Counter[str]]:
    """Entries by a key of their own: as winnow reads them, as pandoc does, and how many of each type they are."""
    ours: dict[str, LibraryItem] = {}
    theirs: dict[str, Mapping[str, Any]] = {}
    by_type: dict[str, list[str]] = defaultdict(list)
    for number, path in enumerate(paths):
        text = _text_of(path)
        if not (read := _read_with_pandoc(text)):
            continue
        items = {item.citekey: item for item in read_bibliography(text, ".bib").items}
        stated = _TYPE.findall(text)
        kinds = {key: kind.casefold() for kind, key in stated}
        twice = {key for key, count in Counter(key.casefold() for _, key in stated).items() if count > 1}
        for work in read:
            key = str(work["id"])
            if key in items and key.casefold() not in twice and kinds.get(key, "string") not in _NO_ENTRIES:
                name = f"{number}:{key}"
                ours[name], theirs[name] = items[key], work
                by_type[kinds[key]].append(name)
    chosen = _draw(by_type, count, random.Random(seed))
    types = Counter(kind for kind, names in by_type.items() for name in names if name in chosen)
    return {name: ours[name] for name in chosen}, {name: theirs[name] for name in chosen}, types


def _draw(by_type: Mapping[str, Sequence[str]], count: int, chance: random.Random) -> list[str]:
    """One of each type in turn, until there are enough."""
    left = {kind: chance.sample(sorted(set(names)), len(set(names))) for kind, names in sorted(by_type.items())}
    chosen: dict[str, None] = {}
    while len(chosen) < count and any(left.values()):
        for names in left.values():
            if names and len(chosen) < count:
                chosen[names.pop()] = None
    return list(chosen)


def _text_of(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _read_with_pandoc(text: str) -> list[Mapping[str, Any]]:
    """The entries as pandoc reads them; [] where it refuses the file."""
    form = (
        "biblatex" if re.search(r"^\s*(?:date|journaltitle|langid|location)\s*=", text, re.M | re.I) else "bibtex"
    )
    done = subprocess.run(
        ["pandoc", "-f", form, "-t", "csljson"],
        input=text.encode(),
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    return list(json.loads(done.stdout)) if done.returncode == 0 else []


# --- fields


def compare_fields(ours: Mapping[str, LibraryItem], theirs: Mapping[str, Mapping[str, Any]]) -> Differences:
    """Each field of each entry, by the kind of its difference."""
    differences = Differences()
    for key, item in ours.items():
        own, other = _plain_fields(csl_fields(item)), _plain_fields(theirs[key])
        more = {name: _plain(text) for name, text in item.more}
        for name in sorted({*own, *other} - _NOT_COMPARED):
            kind = _kind(name, own, other, more)
            example = "" if kind == "equal" else f"{key} {name}: {own.get(name, '')!r} != {other.get(name, '')!r}"
            differences.add(kind if kind == "equal" else f"{kind}: {name}", example)
    return differences


def _kind(name: str, own: Mapping[str, str], other: Mapping[str, str], more: Mapping[str, str]) -> str:
    if name not in other:
        return "ours alone"
    stated = other[name]
    if name not in own:
        return "under another name" if stated in (*own.values(), *more.values()) else "missing"
    if (kind := _compare(own[name], stated)) == "different":
        return "under another name" if stated in (*own.values(), *more.values()) else kind
    return kind


def _compare(own: str, other: str) -> str:
    if own == other:
        return "equal"
    if own.casefold() == other.casefold():
        return "case"
    squeezed = (re.sub(r"\W+", "", text.casefold()) for text in (own, other))
    return "punctuation" if len(set(squeezed)) == 1 else "different"


def _plain_fields(fields: Mapping[str, Any]) -> dict[str, str]:
    found = {name: _plain(value) for name, value in fields.items() if name != "id"}
    return {name: text for name, text in found.items() if text}


def _plain(value: Any) -> str:
    """A value of CSL-JSON as text without markup, signs of one kind written alike."""
    match value:
        case {"date-parts": parts}:
            return "/".join("-".join(str(int(number)) for number in part) for part in parts)
        case {"literal": text} | {"raw": text}:
            return _plain(text)
        case [dict(), *_]:
            return "; ".join(map(_name, value))
        case _:
            text = html.unescape(_MARKUP.sub("", str(value)))
            return " ".join(unicodedata.normalize("NFC", text).translate(_SIGNS).split())


def _name(name: Mapping[str, str]) -> str:
    family = " ".join(
        filter(None, (name.get(part, "") for part in ("dropping-particle", "non-dropping-particle", "family")))
    )
    parts = (family or name.get("literal", ""), name.get("given", ""), name.get("suffix", ""))
    return _plain(", ".join(filter(None, parts)))


# --- styles


def compare_style(style: str, works: Sequence[Mapping[str, Any]]) -> Differences:
    """The list of references of a style, entry by entry."""
    own = [_plain(_NUMBER.sub("", entry)) for entry in write(style, works, []).entries]
    other = [_plain(_NUMBER.sub("", entry)) for entry in _write_with_pandoc(style, works)]
    differences = Differences()
    both = Counter(own) & Counter(other)
    for text in both.elements():
        differences.add("equal")
        own.remove(text)
        other.remove(text)
    for text in own:
        nearest = max(other, key=lambda each: _likeness(text, each), default="")
        if nearest:
            other.remove(nearest)
        kind = _compare(text, nearest)
        differences.add(kind, f"{text}\n       != {nearest}")
    return differences


def _likeness(one: str, other: str) -> float:
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() > 0.4 else 0.0


def _write_with_pandoc(style: str, works: Sequence[Mapping[str, Any]]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "library.json")
        # Works that are sorted alike stay in the order in which they are named.
        library.write_text(json.dumps([{**work, "id": f"w{at:05}"} for at, work in enumerate(works)]), "utf-8")
        sheet = Path(folder, "style.csl")
        rules = files("winnow.server").joinpath(f"data/csl/{STYLES[style]}.csl").read_text("utf-8")
        sheet.write_text(re.sub(r'subsequent-author-substitute="[^"]*"', "", rules), "utf-8")
        command = ["pandoc", "--citeproc", "--csl", str(sheet), "--bibliography", str(library), "-t", "html"]
        text = f"---\nnocite: '{', '.join(f'@w{at:05}' for at in range(len(works)))}'\n---\n"
        done = subprocess.run(
            [*command, "--wrap=none"], input=text.encode(), capture_output=True, timeout=_SECONDS, check=True
        )
    return [_MARKUP.sub("", each) for each in _DIVISION.findall(done.stdout.decode())]


app = command_line(run, EXAMPLES)

if __name__ == "__main__":
    app()
