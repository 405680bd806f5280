"""Source text to code: parse, restrict by the policy, check, compile. What is checked here is what runs."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType

from .allow_list import ALLOWED
from .policy import ENTRY, Policy
from .refusals import Rejected
from .script_source import FILE_NAME
from .transformer import Report

Check = Callable[[ast.Module, Report], None]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A script ready to run: executing ``code`` defines the function `ENTRY`, which is the script."""

    code: CodeType
    is_async: bool


def compile_script(
    source: str,
    check: Check | None = None,
    *,
    file_name: str = FILE_NAME,
    skills: frozenset[str] | None = None,
) -> Compiled:
    """Parse, restrict and compile a script. Rejected is the only exception that a source text can cause.

    ``check`` is called with the tree that the policy admitted and may report further errors. ``skills``: the names
    in the module ``skills``, if there is one.
    """
    try:
        tree = ast.parse(source, file_name)
        policy = Policy(source, ALLOWED if skills is None else {**ALLOWED, "skills": skills})
        policy.visit(tree)
        if check is not None:
            check(tree, policy.report)
        code = compile(policy.entry(tree), file_name, "exec", flags=policy.flags, dont_inherit=True)
        code = _strip_entry_names(code)
    except SyntaxError as error:
        hint = _syntax_hint(source, error)
        raise Rejected("SyntaxError", error.msg, error.lineno, error.offset, hint) from None
    except ValueError as error:  # a null character, or a node in which no guard can be placed
        raise Rejected("SyntaxError", str(error)) from None
    except (RecursionError, MemoryError):  # the parser's own stack overflows as the latter
        raise Rejected("SyntaxError", "the script is nested too deeply", hint="split the expression") from None
    return Compiled(code, policy.is_async)


_WITHIN = f"{ENTRY}.<locals>."


def _strip_entry_names(code: CodeType) -> CodeType:
    """The same code with qualified names that do not show the function around the module."""
    inner = tuple(_strip_entry_names(const) if isinstance(const, CodeType) else const for const in code.co_consts)
    return code.replace(co_consts=inner, co_qualname=code.co_qualname.removeprefix(_WITHIN))


def _syntax_hint(source: str, error: SyntaxError) -> str | None:
    if "```" in source:
        return "send the code alone, without Markdown fences"
    if isinstance(error, IndentationError) and source.startswith((" ", "\t")):
        return "start the script at the left margin"
    return None
