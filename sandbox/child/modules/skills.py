"""``from skills import ...``: functions that the operator provides, under the same fence as the script.

A skill is compiled by the policy like any script and runs with the same guards: it cannot do more than a script.
It has names of its own: a script can call its functions, but cannot change its names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from winnow.sandbox.child.language import compiler, policy, refusals, transformer

from . import facades

MODULE = "skills"
MOST_BYTES = 50 * 1024  # of one file; the same as for a script
# The statements that a file of skills may have at its top level: those that bind names.
_DEFINITIONS = frozenset({"Import", "ImportFrom", "FunctionDef", "ClassDef", "Assign", "AnnAssign", "Expr"})


@dataclass(frozen=True, slots=True)
class Skills:
    """Files of skills by name, and the file name of each function."""

    sources: Mapping[str, str] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)

    def to_job(self) -> dict[str, Any]:
        """The form in which a child receives them."""
        return {"sources": dict(self.sources), "homes": dict(self.homes)}


def compile_skill(source: str) -> compiler.Compiled:
    """Compile a file of skills: only definitions, admitted by the policy. Raises Rejected."""
    if len(source.encode("utf-8", "replace")) > MOST_BYTES:
        raise refusals.Rejected("CodeRejected", f"the file is longer than {MOST_BYTES:,} bytes")
    compiled = compiler.compile_script(source, _only_definitions, file_name="<skill>")
    if compiled.is_async:
        raise refusals.Rejected("CodeRejected", "skills are plain functions: leave out async and await at the top")
    return compiled


def _only_definitions(tree: Any, report: transformer.Report) -> None:
    for node in tree.body:
        kind = type(node).__name__
        if kind not in _DEFINITIONS or (kind == "Expr" and type(node.value).__name__ != "Constant"):
            report("CodeRejected", "a file of skills only defines: imports, names, functions", node, None)


class ImportedSkills:
    """The skills of one run; a file is executed when a function of it is first imported."""

    def __init__(self, skills: Skills, builtins: Mapping[str, Any]) -> None:
        self._sources = skills.sources
        self._homes = skills.homes
        self._builtins = builtins
        self._loaded: dict[str, dict[str, Any]] = {}

    @property
    def names(self) -> frozenset[str]:
        """The names that may be imported."""
        return frozenset(self._homes)

    def functions(self, wanted: tuple[str, ...]) -> Mapping[str, Any]:
        """The functions of these names; all of them if none is named."""
        named = [name for name in wanted or sorted(self._homes) if name in self._homes]
        return {name: self._names_of(self._homes[name])[name] for name in named}

    def _names_of(self, home: str) -> dict[str, Any]:
        if home not in self._loaded:
            names = {**facades.script_sdk(), "__name__": MODULE, "__builtins__": self._builtins}
            exec(compile_skill(self._sources[home]).code, names)
            names.pop(policy.ENTRY)()
            self._loaded[home] = names
        return self._loaded[home]
