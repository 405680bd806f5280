"""The documentation: links resolve, generated pages are current, examples run."""

from __future__ import annotations

import asyncio
import configparser
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.ingesting import ingest_paths
from tests.starts.shells import folder_of_commands
from winnow.sandbox import Outcome
from winnow.security.suite import read_attacks
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import open_application
from winnow.server.commands.entry.cli import COMMANDS
from winnow.server.jobs.target import target_of
from winnow.server.settings.loading import load_settings
from winnow.server.tools.table import TOOLS

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
# Shell examples that a test must not or cannot run, and why.
NOT_RUN = {
    "make demo": "tests/flow/test_demo.py runs what it runs",
    "make test": "this is it",
    "pipx install winnow-mcp": "needs a package registry; test_packaging builds and runs the wheel",
    "pipx upgrade winnow-mcp": "needs a package registry",
    "python3 -m venv ~/.venvs/winnow": "takes long without the next line",
    "~/.venvs/winnow/bin/pip install": "needs a package registry",
    "claude mcp add": "needs Claude Code",
    "winnow setup": "needs MCP clients; tests/flow/test_setup.py runs it where there are some",
}
# How a command of a shell example begins -> what the example prints on standard output.
PRINTED = {
    "winnow cite --key ohm1827": ["(Ohm, 1827)  library.bib#ohm1827", "\nOhm, G. (1827). The galvanic circuit.\n"],
    "winnow cite --key volta1800": ["(Volta, 1800)  piles.md", "\nVolta, A. (1800). On piles.\n"],
    'winnow cite "silver and zinc"': ["[@volta1800]  piles.md\n"],
    "winnow doctor": ["ok  embedding", "ok  integrity  every file is as it was written"],
    "winnow engine status": ["no engine runs for ", "a server starts one with its first call"],
    'winnow quote "how are backups encrypted"': [
        "1. Backups (",
        "/notes/backups.md",
        "Backups are encrypted with age before",
    ],
    "winnow engine stop": [],  # whether one still runs is a matter of time
    "winnow exec - --project notes": ['result: ["Backups",'],
    "winnow ingest papers --references library.bib": [
        "papers: 2 documents written",
        "references: 2 entries, 1 file matched, 1 entry indexed by title and abstract\n",
    ],
    "winnow ingest papers --references papers.bib": [
        "papers: 1 document written",
        "references: 1 entry, 1 file matched, 0 entries indexed by title and abstract\n",
    ],
    "winnow ingest ~/notes": ["default: ", ", 0 deleted; "],
    "winnow ingest ~/notes --project notes": ["notes: ", ", 0 deleted; "],
    "winnow ingest ~/notes --project team/papers": ["team/papers: 3 documents written, 0 unchanged, 0 deleted"],
    "winnow job list": ["no agent asked for an ingest in the last week\n", '"jobs": []'],
    "winnow model install": ["embedder     minilm\n", "state        ready\n"],
    "winnow pack check": [
        "web.search.query  1.0.0  http    Pages of the web for a query, from our own search engine."
    ],
    "winnow pack list": ["web.search.query  1.0.0  http"],
    "winnow project create": ["team/papers: created; ingest into it: winnow ingest PATH --project team/papers\n"],
    "winnow project delete": [
        "library is deleted; it can be restored until projects are purged or the store is reindexed"
    ],
    "winnow project export": ["library: 3 documents written to library.zip ("],
    "winnow project import": ["archive/library: imported\n", "archive/library: 3 documents, 3 passages"],
    "winnow project list": ['"name": "team/papers"', '"citation_style": "apa"'],
    "winnow project purge": ["removed: library\n"],
    "winnow project rename": ["library: renamed; it was team/papers\n", "  citation_style: apa\n"],
    "winnow project restore": ["library: restored\n", "library: 3 documents, 3 passages"],
    "winnow project set": ["  top_k: 10\n  ", "  fusion: rrf\n", "  fusion: of the store\n", "  labels: none\n"],
    "winnow project show": ["  labels: doc_tag=paper\n", "  citation_style: apa\n"],
    "winnow prompt check prompts": ["              first: one thing (1 to 200 characters)\n"],
    'winnow search "how are backups encrypted"': [" Backups | markdown | backups.md [more]\n"],
    'winnow search "when does the router restart"': ['"content": "# Router\\n\\nThe router reboots every Sunday'],
    "winnow serve": [],  # the protocol alone goes there
    "winnow sources add ~/notes --id mine": ["mine: project notes, include *.md, exclude drafts/\n"],
    "winnow sources add ~/notes --project notes": ["notes: project notes\n"],
    "winnow sources list": ["watched"],
    "winnow sources remove": ["is no longer watched; its documents stay in project notes\n"],
    "winnow watch --once": ["watched; 3 files when scanned at "],
}
REPEATED = (
    "Anyone who changes something in this house writes down what was changed, when it was changed, and why it was."
)
NOTES = {
    "backups.md": "# Backups\n\nBackups are encrypted with age before they leave the house.\n",
    "router.md": f"# Router\n\nThe router reboots every Sunday at four.\n\n{REPEATED}\n",
    "settings.md": "# Settings\n\nRetries default to 3 since v2.5; see [backups](backups.md).\n\n"
    f"```sh\nrestart --port=8080\n```\n\n{REPEATED}\n",
}


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _generate(root: Path, *options: str) -> tuple[int, list[str]]:
    """The exit code of ``docs/generate.py`` in this folder, and the files that it names."""
    script = [sys.executable, root / "docs/generate.py", *options]
    ended = subprocess.run(script, env={**os.environ, "PYTHONPATH": str(root)}, stdout=subprocess.PIPE, text=True)
    return ended.returncode, ended.stdout.split()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's home with three notes in it, which the shell examples change."""
    home = tmp_path_factory.mktemp("home")
    write_notes(home / "notes")
    return home


def write_notes(folder: Path) -> Path:
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the command `winnow`; tests/flow/test_real_starts.py starts each as a shell does."""
    with folder_of_commands(tmp_path_factory.mktemp("commands")) as folder:
        yield folder


def _shell(home: Path, commands: Path, command: str) -> subprocess.CompletedProcess[str]:
    unset = ("XDG_DATA_HOME", "XDG_CACHE_HOME")
    kept = {name: value for name, value in os.environ.items() if name not in unset and "WINNOW" not in name}
    environment = {**kept, "HOME": str(home), "PATH": f"{commands}:{Path(sys.executable).parent}:{kept['PATH']}"}
    return subprocess.run(
        ["sh", "-euc", command], cwd=home, env=environment, capture_output=True, text=True, check=False
    )


def test_the_readme_names_every_tool() -> None:
    """The table lists every tool except the legacy tools and those of packs, and no other names."""
    section = (ROOT / "README.md").read_text("utf-8").partition("## What an agent gets")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    unlisted = {tool.name for tool in TOOLS if "(earlier tool)" in tool.title or tool.pack}
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {tool.name.replace(".", "_") for tool in TOOLS if tool.name not in unlisted}


def test_the_readme_does_not_promise_more_attacks_than_there_are() -> None:
    """The number is a round one below the true one."""
    (stated,) = re.findall(r"with more than (\d+) programs", (ROOT / "README.md").read_text("utf-8"))
    assert int(stated) < len(list(read_attacks()))


def test_decisions_are_numbered_without_a_gap() -> None:
    """A missing number looks like a hidden decision."""
    numbers = sorted(int(path.name[:4]) for path in (ROOT / "docs/decisions").glob("[0-9]*.md"))
    assert numbers == list(range(1, len(numbers) + 1))


def _shell_examples() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for block in _blocks(page, "sh"):
            runnable = [line for line in block.splitlines() if not line.startswith(tuple(NOT_RUN))]
            if runnable:
                yield _name(page), "\n".join(runnable)


@pytest.mark.parametrize(("page", "example"), list(_shell_examples()))
def test_every_shell_example_runs(page: str, example: str, home: Path, commands: Path) -> None:
    """In the order of the pages, in one home, as a reader would type them."""
    done = _shell(home, commands, example)
    assert done.returncode == 0, done.stderr
    commands = [line.rpartition("| ")[2] for line in example.splitlines()]
    for command in commands:
        starts = sorted((start for start in PRINTED if command.startswith(start)), key=len)
        expected = [PRINTED[start] for start in starts[-1:]]
        assert len(expected) == command.startswith("winnow "), command
        assert [text for texts in expected for text in texts if text not in done.stdout] == []


def _descriptions() -> Iterator[tuple[str, str]]:
    """The defaults and bounds that the descriptions of arguments state."""
    for tool in TOOLS:
        for name, words in tool.describe_arguments(load_settings()).items():
            _, found, example = words.partition("Example:\n")
            if found:
                yield f"{name} of {tool.name}", example


SCRIPT_EXAMPLES = [
    *((_name(page), block) for page in PAGES for block in _blocks(page, "python")),
    *_descriptions(),
]


def test_the_example_in_the_description_of_scripts_is_one_of_them() -> None:
    assert [place for place, _ in _descriptions()] == ["code of execute_code"]


RECIPES = dict(
    re.findall(
        r"^## (.+)\n(?:.*\n)+?```python\n((?:.*\n)+?)```$",
        (ROOT / "docs/recipes.md").read_text("utf-8")
        + (ROOT / "server/data/agent_skills/recipes.md").read_text("utf-8"),
        re.MULTILINE,
    )
)
_FILES = ["backups.md", "router.md", "settings.md"]
# What the recipes find in the notes; of skills, the sentences.
FOUND = {
    "List all": {"documents": [["backups.md", 2], ["settings.md", 2]], "complete": True},
    "Count by": {"versions": [["2.5", 1]], "folders": [["", 3]]},
    "For every page": [
        {"page": file, "title": file[:-3].title(), "has_code": file == "settings.md"} for file in _FILES
    ],
    "A table of defaults": [["Retries", "3", "settings.md"], ["--port", "8080", "settings.md"]],
    "Find repeats": [{"copies": 2, "text": REPEATED[:100], "files": ["router.md", "settings.md"]}],
    "Compare": {
        "encrypted": {"backups": ["Backups are encrypted with age before they leave the house."], "router": []},
        "reboots": {"backups": [], "router": ["The router reboots every Sunday at four."]},
    },
    "A glossary": {
        "backup": "Backups are encrypted with age before they leave the house.",
        "router": "The router reboots every Sunday at four.",
    },
    "Follow links": {"from": "settings.md", "pages": ["Backups"], "links": ["backups.md"]},
    "Sample and classify": {
        "sample": {"backups.md": [], "router.md": [], "settings.md": ["numbers", "code"]},
        "all": {"numbers": 1, "questions": 0, "code": 1},
    },
    "Read a document whole": {"file": "backups.md", "lines": 3, "headings": ["Backups"]},
    "Read code, tables and links of many documents": {
        "backups.md": {"code": [], "tables": [], "links": []},
        "router.md": {"code": [], "tables": [], "links": []},
        "settings.md": {"code": [["sh", "restart --port=8080\n"]], "tables": [], "links": ["backups.md"]},
    },
    "Verify a quote": {"verbatim": True, "where": [["router.md", 10]], "complete": True},
    "Carry on from the last script": {"now": _FILES, "before": 0},
    "Quotes with citations": ["answered", "(backups.md)", []],
    "Check each quote": {
        "The router reboots every Sunday at four.": {"files": ["router.md"], "complete": True},
        "Backups are kept forever.": {"files": [], "complete": True},
    },
    "One question to each work": [[file, file == "backups.md"] for file in _FILES],
    "A list of references": {"entries": [], "without a citekey": _FILES},
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """The outcome of every recipe, each run as an agent would send it, over the notes."""
    settings = load_settings(store=tmp_path_factory.mktemp("store"), project="notes", tools="all,claims")
    backends = open_backends(settings, wait_for_model=True)
    try:
        notes = write_notes(tmp_path_factory.mktemp("scripts") / "notes")
        ingest_paths(target_of(settings, backends, backends.embedder.ready()), [notes])
    finally:
        backends.close()

    async def run() -> dict[str, Outcome]:
        async with open_application(settings, wait_for_model=True) as application:
            await application.ready()
            return {example: await application.scripts.run(example) for example in RECIPES.values()}

    return asyncio.run(run())


@pytest.mark.walls
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_finds_what_stands_in_the_notes(name: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[RECIPES[name]]
    assert (outcome.status, outcome.error) == ("ok", None)
    found: Any = outcome.result
    if name == "Compare":
        found = {
            aspect: {one: [row["quote"] for row in cell] for one, cell in cells.items()}
            for aspect, cells in found.items()
        }
    if name == "A glossary":
        found = {term: row["definition"] for term, row in found.items()}
    if name == "Quotes with citations":
        found = [found["verdict"], found["quotes"][0]["citation"], found["citekeys"]]
    if name == "One question to each work":
        found = [[row["file"], "Backups are encrypted with age" in (row["quote"] or "")] for row in found]
    if name == "A list of references":
        found["without a citekey"].sort()
    assert found == FOUND[name]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    """No link is broken."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_anchor_names_a_heading(page: Path) -> None:
    broken = []
    for file, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text("utf-8")):
        text = (page.parent / file if file else page).read_text("utf-8")
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        if anchor not in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}:
            broken.append(f"{file}#{anchor}")
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        return  # the changelog also names modules of earlier versions
    named = re.findall(r"\b((?:server|sandbox|client_sdk|security|tests)/[\w/]+\.py)\b", page.read_text("utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_generated_pages_are_fresh() -> None:
    """If not: `python -m docs.generate` writes the files that are named here."""
    assert _generate(ROOT, "--check") == (0, [])


def test_one_run_of_the_generator_leaves_nothing_stale(tmp_path: Path) -> None:
    """The page of the SDK shows the docstrings that the same run writes."""
    sources = ("client_sdk", "distribution", "docs", "sandbox", "server", "winnow")
    for folder in (*sources, "deploy", "plugin", ".claude-plugin"):
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True)
    for file in ("README.md", "pyproject.toml", "server.json"):
        shutil.copyfile(ROOT / file, tmp_path / file)
    declared = tmp_path / "server/operations/corpus/scan.py"
    told, changed = "a list, not a ranking", "a list that ranks nothing"
    assert told in declared.read_text("utf-8")
    declared.write_text(declared.read_text("utf-8").replace(told, changed), "utf-8")
    skill = "../plugin/skills/winnow-scripts/references/sdk.md"
    assert _generate(tmp_path) == (0, ["../client_sdk/corpus_calls.py", "sdk.md", skill])
    assert changed in (tmp_path / "docs/sdk.md").read_text("utf-8")
    assert _generate(tmp_path, "--check") == (0, [])


def test_every_tool_has_its_section_on_one_page() -> None:
    pages = [page.read_text("utf-8") for page in (ROOT / "docs/tools").glob("*.md")]
    sections = [name for text in pages for name in re.findall(r"^## (\w+)$", text, re.MULTILINE)]
    assert sorted(sections) == sorted(tool.name.replace(".", "_") for tool in TOOLS)


def test_the_readme_lists_every_command_with_its_line() -> None:
    """The README's table is the table of `winnow --help`."""
    rows = re.findall(
        r"^\| `winnow (\w+)[^`]*` \| (.+) \|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert dict(rows) == {name: line for name, (_, line) in COMMANDS.items()}


def test_client_configurations_are_json() -> None:
    """The examples can be pasted into a client's configuration file."""
    pages = [page for page in PAGES if page.name != "research-tools.md"]  # has calls; test_research makes them
    blocks = [block for page in pages for block in _blocks(page, "json")]
    kinds = [["inputs", "servers"], *[["mcpServers"]] * 3, ["servers"]]
    assert sorted(sorted(json.loads(block)) for block in blocks) == kinds


def test_the_examples_of_a_proxy_and_a_unit_are_whole_and_use_options_that_there_are() -> None:
    page = (ROOT / "docs" / "hosting.md").read_text("utf-8")
    blocks = dict(re.findall(r"```(nginx|ini)\n(.*?)```", page, re.DOTALL))
    lines = [line.strip() for line in blocks["nginx"].splitlines() if line.strip()]
    assert [line for line in lines if not line.endswith(("{", "}", ";"))] == []
    assert blocks["nginx"].count("{") == blocks["nginx"].count("}") == 2
    unit = configparser.RawConfigParser()
    unit.read_string(blocks["ini"])
    command = unit["Service"]["ExecStart"].split()
    serve = typer.main.get_command(importlib.import_module("winnow.server.commands.serve").app)
    known = {option for parameter in serve.params for option in parameter.opts}
    assert command[1] == "serve"
    assert {word for word in command if word.startswith("--")} - known == set()
