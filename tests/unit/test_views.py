"""Terminal output of commands: one printable line for each item, whatever its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.progress import Progress
from rich.table import Table
from rich.tree import Tree

from winnow.server.commands.audit import _format_row, _format_table
from winnow.server.commands.ingest.report import print_report as shown_ingest
from winnow.server.commands.terminal.output import print_json, print_lines, print_to_stderr
from winnow.server.commands.terminal.screen import Screen
from winnow.server.ingest.pipeline import IngestFailure, IngestReport
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import printable

COMMANDS = Path(__file__).parents[2] / "server" / "commands"
# Functions that print, and their modules. `serve` speaks the protocol on stdout, and prints nothing.
OUTPUT, SCREEN = "output.py", "screen.py"
HOSTILE = "a\nwinnow: all is well\x1b[2K\x1b]0;title\x07\x9b31m\u202eb\U000e0041\u2028c\t[red]d[/red]\udcff"
SEEN = "a winnow: all is wellb c [red]d[/red]\ufffd"


def _written_past(tree: ast.AST) -> Iterator[str]:
    """The places where a module prints other than by ``output`` and ``screen``."""
    only_asked = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "isatty"
    }
    bars = {
        one.asname or one.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in ("rich.progress", "rich.live")
        for one in node.names
        if one.name in ("Progress", "Live")
    }
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="sys"), attr="stdout" | "stderr" | "__stdout__" | "__stderr__"):
                if node not in only_asked:
                    yield f"{node.lineno}: sys.{node.attr}"
            case ast.Call(func=ast.Name(id="print") | ast.Name(id="Console")):
                yield f"{node.lineno}: {ast.unparse(node.func)}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="typer" | "click" | "rich"), attr=name)):
                if name in {"echo", "secho", "print"}:
                    yield f"{node.lineno}: {ast.unparse(node.func)}"
            case ast.Call(func=ast.Name(id=name)) if name in bars:
                if not any(keyword.arg == "console" for keyword in node.keywords):
                    yield f"{node.lineno}: a console of its own"
            case ast.ImportFrom(module="rich.console", names=names) if any(one.name == "Console" for one in names):
                yield f"{node.lineno}: rich's own console"


def test_no_command_prints_past_the_two_ways_out() -> None:
    past = [
        f"{path.relative_to(COMMANDS)}:{found}"
        for path in sorted(COMMANDS.rglob("*.py"))
        if path.name not in (OUTPUT, SCREEN) and path.parent.name != "entry"  # the ways in come before any output
        for found in _written_past(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert past == []


@pytest.mark.parametrize(
    "source",
    [
        "print(name)",
        "sys.stdout.write(name)",
        "sys.stderr.writelines(names)",
        "typer.echo(name)",
        "Console().print(name)",
        "from rich.console import Console as Screen",
        "from rich.progress import Progress as Bar\nBar(transient=True)",
    ],
)
def test_the_walk_finds_each_way_past_them(source: str) -> None:
    assert list(_written_past(ast.parse(source))) != []


def test_each_line_that_is_told_is_one_printable_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(f"not read: {HOSTILE}", "  indented  as   it was")
    print_to_stderr(HOSTILE)
    out, err = capsys.readouterr()
    assert out.split("\n") == [f"not read: {SEEN}", "  indented  as   it was", ""]
    assert err.split("\n") == [SEEN, ""]


def test_json_for_programs_hides_nothing_and_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": HOSTILE.replace("\udcff", "")})
    out = capsys.readouterr().out
    assert printable(out) == out
    assert '"a\\nwinnow: all is well\\u001b[2K' in out
    assert "\\u009b31m\\u202eb\\udb40\\udc41\\u2028c" in out


def test_the_screen_prints_no_escape_that_it_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("name", box=None)
    table.add_row(HOSTILE.replace("[red]", "").replace("[/red]", ""))
    tree = Tree(HOSTILE.replace("[red]", "").replace("[/red]", ""))
    screen = Screen(width=200, color_system=None)
    screen.print(table, tree, f"[bold]{HOSTILE}[/bold]")
    with Progress(console=screen) as progress:
        progress.add_task(HOSTILE.replace("[red]", "").replace("[/red]", ""))
    out = capsys.readouterr().out
    for unseen in ("\x1b", "\x9b", "\x07", "\u202e", "\U000e0041", "\u2028", "\udcff"):
        assert unseen not in out


def test_an_ingest_reports_each_file_on_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = IngestReport("default", 1, failures=(IngestFailure(HOSTILE, HOSTILE),), warnings=(HOSTILE,))
    shown_ingest(report, Settings(store=tmp_path), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines[1:] if SEEN in line] == [f"not read: {SEEN}: {SEEN}", SEEN]


def test_the_audit_shows_an_execution_on_one_line() -> None:
    record = {"time": HOSTILE, "verdict": HOSTILE, "error": HOSTILE * 50, "client": HOSTILE, "wall_ms": 1.0}
    assert [printable(cell) == cell and "\n" not in cell and len(cell) <= 60 for cell in _format_row(record)] == [
        True
    ] * 10
    assert len(_format_table([record, record])) == 3
