"""Programs to start from: every attack, and every script that the tests of the language run."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from winnow.sandbox.child.language.allow_list import ALLOWED
from winnow.security import suite

_TESTS = Path(__file__).parents[1] / "walls"
_LONGEST = 10_000
# Families that exhaust time or memory: limits stop them, and they would waste a campaign's time.
_SPENDING = frozenset({"bombs", "cpu", "memory", "output", "regex", "survival"})


@cache
def attacks() -> tuple[str, ...]:
    """Programs that were written to break out of the language; what imports `os` ends at its first line."""
    found = (attack for attack in suite.read_attacks() if attack.is_script and attack.family not in _SPENDING)
    sources = (attack.source for attack in found if len(attack.source) < _LONGEST)
    return tuple(source for source in sources if not _imports_more(source))


def _imports_more(source: str) -> bool:
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        return False
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return not imported <= ALLOWED.keys()


@cache
def language_scripts() -> tuple[str, ...]:
    """Texts of several lines in the tests of the language that are programs."""
    found = {}
    for path in sorted(_TESTS.glob("test_sandbox_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
                text = _dedent(node.value)
                if text is not None:
                    found[text] = None
    return tuple(found)


def _dedent(text: str) -> str | None:
    lines = text.strip("\n").splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    program = "\n".join(line[margin:] for line in lines) + "\n"
    try:
        compile(program, "seed", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return None
    return program


def programs() -> tuple[str, ...]:
    """All seed programs."""
    return attacks() + language_scripts()
