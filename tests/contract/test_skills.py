"""Skills: which functions are accepted, how scripts use them, and the results of the shipped ones."""

# ruff: noqa: E501 - scripts as one would write them

from __future__ import annotations

import ast
import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from winnow.sandbox import Outcome
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.commands.health import examine
from winnow.server.settings.loading import load_settings
from winnow.server.tools.scripts.skills import describe_skills, load_skills

OWN = '''
"""Ours."""

from collections import Counter

_MOST = 3


def titles(query, top_k=5):
    """Titles that a query finds, each with its number.

    top_k: how many rows to look at.
    """
    return _counted(row.file for row in semantic_search(query, top_k=top_k)).most_common(_MOST)


def _counted(values):
    return Counter(values)


def fails():
    """Fail."""
    return [][1]


def coverage(questions):
    """Ours, in place of the shipped one."""
    return "ours"
'''
REFUSED: Mapping[str, tuple[str, str]] = {
    "files": (
        'def f():\n    """F."""\n    return open("/etc/passwd")',
        "line 3: 'open' is not available in a script",
    ),
    "modules": ("import os", "line 1: the module 'os' is not available"),
    "work": ("kb.search('at once')", "line 1: a file of skills only defines"),
    "loops": ("for _ in []: pass", "line 1: a file of skills only defines"),
    "silent": ("def f(): return 1", "line 1: f: a skill needs a docstring"),
    "broken": ("def f(:", "line 1: "),
    "long": (f"x = '{'x' * 52_000}'", "the file is longer than"),
    "innards": ('def f():\n    """F."""\n    return f.__globals__', "line 3: "),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An operator's folder: one good file, and others."""
    folder = tmp_path_factory.mktemp("skills")
    (folder / "own.py").write_text(OWN, "utf-8")
    for name, (source, _) in REFUSED.items():
        (folder / f"{name}.py").write_text(source, "utf-8")
    (folder / "open.py").write_text("def g():\n    '''G.'''", "utf-8")
    (folder / "open.py").chmod(0o666)
    (folder / "notes.txt").write_text("nothing")
    return folder


SCRIPTS: Mapping[str, tuple[str, Any]] = {
    "an operator's skill runs, under its own names": (
        "_MOST = 1\ndef _counted(values): return None\nfrom skills import titles\nreturn titles('invoices late payment')[0][0]",
        "guide/billing.md",
    ),
    "skills are imported whole, too": (
        "import skills\nreturn skills.titles('invoices late payment', top_k=1)[0][1]",
        1,
    ),
    "an operator's skill comes before a shipped one": ("from skills import coverage\nreturn coverage([])", "ours"),
    "a skill's private names stay private": (
        "import skills\nreturn hasattr(skills, '_counted'), [name for name in dir(skills) if name < 'd']",
        [False, ["compare", "coverage"]],
    ),
    "a skill is not changed by a script": (
        """
import skills
from skills import titles
outcomes = []
for change in (lambda: setattr(skills, "titles", None), lambda: setattr(titles, "__code__", None),
               lambda: getattr(titles, "__globals__"), lambda: setattr(titles, "note", 1)):
    try:
        change()
        outcomes.append("changed")
    except (AttributeError, TypeError):
        outcomes.append("refused")
return outcomes
""",
        ["refused"] * 4,
    ),
    "map_reduce answers by sections": (
        """
from skills import map_reduce
found = map_reduce("how are backups encrypted", documents=2)
best = found["answers"][0]
return ("AES-256" in best["quotes"][0]["quote"], best["document"], sum(len(a["quotes"]) for a in found["answers"]) <= 12,
        "guide/backups.md" in found["read"], found["left_out"])
""",
        [True, "Backups handbook", True, True, []],
    ),
    "map_reduce gives a function every document of a path whole": (
        """
from skills import map_reduce
found = map_reduce("", documents=10, path="guide/", each=lambda text, row: [text[:3], text.count("## ")])
return [[one["file"], one["value"]] for one in found["answers"]] == [[file, ["---", 24]] for file in found["read"]], len(found["read"])
""",
        [True, 5],
    ),
    "map_reduce leaves out what the run has no room for, and says so": (
        """
from skills import map_reduce
fetch("x", missing="skip")
found = map_reduce("", documents=10, path="guide/", each=lambda text, row: [semantic_search("x1") for _ in range(budget().calls - 2)] and 1)
return len(found["read"]), len(found["left_out"])
""",
        [1, 4],
    ),
    "compare puts things side by side": (
        """
from skills import compare
table = compare(["backups", "invoices"], ["kept for ninety days", "sent on the first day"])
return {aspect: {entity: [quote["quote"][:20] for quote in cell] for entity, cell in row.items()} for aspect, row in table.items()}
""",
        {
            "kept for ninety days": {"backups": ["Backups are encrypte"], "invoices": []},
            "sent on the first day": {"backups": [], "invoices": ["Invoices are sent on"]},
        },
    ),
    "a cell of compare has the id and file of its sentence, which names the entity in itself or its place": (
        """
from skills import compare
table = compare(["winnower", "thresher", "hand winnower"], ["weight", "price in euros"])
told = {entity: [[one["quote"], one["file"], fetch(one["id"])[0].file] for one in cell] for entity, cell in table["weight"].items()}
return told, table["price in euros"]
""",
        [
            {
                "winnower": [["The weight of the winnower is 80 kilograms.", "manual.md", "manual.md"]],
                "thresher": [["Its weight is 300 kilograms.", "thresher.md", "thresher.md"]],
                "hand winnower": [["A hand winnower has a weight of 6 kilograms.", "manual.md", "manual.md"]],
            },
            {"winnower": [], "thresher": [], "hand winnower": []},
        ],
    ),
    "timeline is in order of dates": (
        """
from skills import timeline
events = timeline("release of the winnower")
return [[event["date"], event["quote"][:20]] for event in events], events[0]["source"].startswith("History"), {event["file"] for event in events}
""",
        [
            [
                ["2019", "The first winnower w"],
                ["2021-05-17", "On 17 May 2021 the r"],
                ["2024-03", "The release of March"],
            ],
            True,
            ["history.md"],
        ],
    ),
    "timeline follows what refers back, and takes dates in every spelling": (
        """
from skills import timeline
return [[event["date"], event["quote"]] for event in timeline("thresher")]
""",
        [
            ["1786", "The thresher was invented in 1786."],
            ["2022-12-03", "It was painted on Dec. 3rd, 2022."],
            ["2023-02-01", "The thresher was repaired on 2023-02-01, not on 2023-13-45."],
        ],
    ),
    "contradictions are candidates, and only sentences that say the same otherwise": (
        """
from skills import find_contradictions
found = find_contradictions("sieve depth of the winnower")
return [[pair["why"], sorted(source[:6] for source in pair["sources"]), sorted(fetch(one)[0].file for one in pair["ids"])] for pair in found["candidates"]], found["note"][:10]
""",
        [[["other numbers", ["Histor", "Manual"], ["history.md", "manual.md"]]], "candidates"],
    ),
    "a sentence with a not and one without are a candidate, those with a condition are none": (
        """
from skills import find_contradictions
return [[pair["why"], pair["first"]] for pair in find_contradictions("thresher belt")["candidates"]]
""",
        [["one is denied", "The belt of the thresher may run without a guard."]],
    ),
    "the glossary quotes what defines, from the page with the term as its title where there is one": (
        """
from skills import glossary
terms = glossary(["sieve", "quux", "Threshers", "straw walker"])
return {term: found and [found["definition"], found["file"], fetch(found["id"])[0].file if found["file"] == "manual.md" else ""] for term, found in terms.items()}
""",
        {
            "sieve": ["A sieve is the part of the winnower that keeps the straw back.", "manual.md", "manual.md"],
            "quux": None,
            "Threshers": ["Separates grain from straw with a drum, and needs two people.", "thresher.md", ""],
            "straw walker": [
                "**Straw walker**: shakes the straw to the end of the machine.",
                "manual.md",
                "manual.md",
            ],
        },
    ),
    "one name does for a list, a text is no list of letters, and a document has its own title": (
        """
from skills import compare, glossary, map_reduce, timeline
outcomes = []
for call in (lambda: compare("backups", ["encrypted"]), lambda: timeline(["a", "b"]), lambda: glossary(["router", " "])):
    try:
        outcomes.append(call())
    except (TypeError, ValueError) as error:
        outcomes.append(str(error).partition(";")[0].partition(",")[0])
table = compare(["backups", "invoices"], "kept for ninety days")
found = map_reduce("how are backups encrypted", documents=1, each=lambda text, row: len(text) > 100)
return outcomes, list(table), found["answers"][0]["document"]
""",
        [
            ["entities: a list of names", "topic: one text", "' ' has no letter or digit"],
            ["kept for ninety days"],
            "Backups handbook",
        ],
    ),
    "the glossary takes hundreds of terms in few calls": (
        """
from skills import glossary
before = budget().calls
terms = glossary([f"term{number}" for number in range(400)] + ["sieve"])
return len(terms), terms["sieve"]["definition"][:11], before - budget().calls < 20
""",
        [401, "A sieve is ", True],
    ),
    "the glossary keeps what it has when a limit comes, and names the rest": (
        """
from skills import glossary
for _ in range(budget().calls - 6):
    semantic_search("x1")
terms = glossary([f"term{number}" for number in range(300)] + ["sieve"])
return 50 <= len(terms) < 301, set(terms.values()) == {None}
""",
        [True, True],
    ),
    "help says what a skill says": ("from skills import timeline\nhelp(timeline)", None),
}
SHIPPED_COVERAGE = """
from skills import coverage
found = coverage(["how are backups encrypted", "who won the chess tournament of zanzibar"])
some = coverage("how are backups encrypted", path="nothing/")
for _ in range(budget().calls - 3):
    semantic_search("x1")
rest = coverage(["how are backups encrypted"] * 3)
return ([one["question"] for one in found["answered"]], found["open"], found["share"], found["not_asked"], len(some["open"]),
        len(rest["answered"]), len(rest["not_asked"]))
"""
EXPECTED_COVERAGE = [
    ["how are backups encrypted"],
    [
        {
            "question": "who won the chess tournament of zanzibar",
            "missing_terms": ["chess", "tournament", "zanzibar"],
        }
    ],
    0.5,
    [],
    1,
    1,
    2,
]
HISTORY = """\
# History

The first winnower was built in 2019 after the release of the plans.

On 17 May 2021 the release of the second winnower followed.

The release of March 2024 is the winnower of today.

The sieve depth of the winnower is 40 millimetres.

The smallest sieve depth of the winnower is 30 millimetres.
"""
MANUAL = """\
# Manual

A sieve is the part of the winnower that keeps the straw back.

The sieve depth of the winnower is 55 millimetres.

The largest sieve depth of the winnower is 70 millimetres.

The weight of the winnower is 80 kilograms. A hand winnower has a weight of 6 kilograms.

- **Straw walker**: shakes the straw to the end of the machine.
"""
THRESHER = """\
---
title: Thresher
---

Separates grain from straw with a drum,
and needs two people.

## History

The thresher was invented in 1786. It was painted on Dec. 3rd, 2022.
The thresher was repaired on 2023-02-01, not on 2023-13-45.

## Dimensions

Its weight is 300 kilograms. The weight of the winnower stands elsewhere.

## Safety

The belt of the thresher may run without a guard. If it is new, the belt of the thresher may not run without a guard.
The belt of the thresher may not run without a guard.
"""


@pytest.fixture(scope="module")
def outcomes(folder: Path, tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Mapping[str, Outcome]:
    """The outcome of each script, over the corpus and three more pages."""
    from tests.ingesting import ingest_paths
    from winnow.server.backends.opening import open_backends
    from winnow.server.jobs.target import target_of

    store, more = tmp_path_factory.mktemp("store"), tmp_path_factory.mktemp("more")
    (more / "history.md").write_text(HISTORY)
    (more / "manual.md").write_text(MANUAL)
    (more / "thresher.md").write_text(THRESHER)
    settings = load_settings(store=store, project="handbook", skills=[folder])
    backends = open_backends(settings, wait_for_model=True)
    try:
        ingest_paths(target_of(settings, backends, backends.embedder.ready()), [corpus, more])
    finally:
        backends.close()

    async def run(skills: list[Path], scripts: Mapping[str, str]) -> Mapping[str, Outcome]:
        changed = settings.model_copy(update={"skills": tuple(skills)})
        async with open_application(changed, wait_for_model=True) as application:
            await application.ready()
            return {name: await application.scripts.run(code, client="one") for name, code in scripts.items()}

    own = asyncio.run(run([folder], {**{name: code for name, (code, _) in SCRIPTS.items()}, "fails": FAILS}))
    return {**own, **asyncio.run(run([], {"coverage": SHIPPED_COVERAGE}))}


@pytest.mark.anyio
@pytest.mark.walls
@pytest.mark.parametrize("code", ["return glossary(['x'])", "from winnow import glossary", "import winnow.skills"])
async def test_a_skill_without_its_import_is_told_where_it_is(application: Application, code: str) -> None:
    await application.ready()
    error = (await application.scripts.run(code, client="one")).error
    assert error is not None
    assert str(error.hint).startswith("write: from skills import")


FAILS = "from skills import fails\nx = 1\nfails()"


@pytest.mark.walls
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_with_skills(name: str, outcomes: Mapping[str, Outcome]) -> None:
    outcome = outcomes[name]
    if SCRIPTS[name][1] is None:
        assert outcome.stdout.startswith("Put the sentences about a topic in order")
    else:
        assert (outcome.result, outcome.error) == (SCRIPTS[name][1], None)


@pytest.mark.walls
def test_coverage_tells_what_is_answered_and_what_is_open(outcomes: Mapping[str, Outcome]) -> None:
    assert (outcomes["coverage"].result, outcomes["coverage"].error) == (EXPECTED_COVERAGE, None)


@pytest.mark.walls
def test_an_error_within_a_skill_names_the_script_s_own_line(outcomes: Mapping[str, Outcome]) -> None:
    error = outcomes["fails"].error
    assert error is not None
    assert (error.type, error.line, error.source_line) == ("IndexError", 3, "fails()")


def test_what_cannot_be_a_skill_is_left_out_with_the_reason(folder: Path) -> None:
    skill_set = load_skills([folder, folder / "nowhere"])
    why = {Path(one.what.partition(": ")[0]).stem: one.why for one in skill_set.left_out}
    for name, (_, reason) in REFUSED.items():
        assert why[name].startswith(reason), why[name]
    assert "others may write it" in why["open"]
    assert why["nowhere"]
    assert any(one.what.endswith(": coverage") for one in skill_set.left_out)
    assert list(skill_set.skills)[:3] == ["titles", "fails", "coverage"]
    assert skill_set.skills["titles"].parameters == "(query, top_k=5)"


def test_the_shipped_skills_are_six_with_a_line_each() -> None:
    skill_set = load_skills([])
    assert (sorted(skill_set.skills), skill_set.left_out) == (
        ["compare", "coverage", "find_contradictions", "glossary", "map_reduce", "timeline"], ())  # fmt: skip
    told = describe_skills(skill_set)
    assert all(f"- `{one.name}{one.parameters}`: {one.line}" in told for one in skill_set.skills.values())
    assert all(one.line.endswith(".") for one in skill_set.skills.values())


def test_the_doctor_names_what_is_left_out_and_stays_well(folder: Path) -> None:
    findings = [one for one in examine(load_settings(skills=[folder])) if one.group == "skills"]
    assert "titles" in findings[0].detail
    assert len([one for one in findings if not one.ok]) == len(REFUSED) + 2
    assert not any(one.essential for one in findings)


def test_folders_of_skills_are_one_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_SKILLS", "a, b/c")
    assert load_settings().skills == (Path("a"), Path("b/c"))


def test_a_file_that_cpython_fails_to_parse_at_first_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread that parses at the same time can make ``ast.parse`` fail for a sound file."""
    (tmp_path / "mine.py").write_text('def mine():\n    """Mine."""\n    return 1\n', "utf-8")
    parse, failures = ast.parse, [SystemError("AST constructor recursion depth mismatch")]

    def fail_once(*arguments: Any, **options: Any) -> Any:
        if failures:
            raise failures.pop()
        return parse(*arguments, **options)

    monkeypatch.setattr("winnow.server.tools.scripts.skills.ast.parse", fail_once)
    loaded = load_skills([tmp_path])
    assert ("mine" in loaded.skills, [skipped.what for skipped in loaded.left_out if "mine" in skipped.what]) == (
        True,
        [],
    )
