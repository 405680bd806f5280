"""Syntax trees of Python sources, read while other threads read some."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_ATTEMPTS = 5


def retry_trees(read: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call a function that makes syntax trees, again where CPython failed although the source is valid.

    CPython 3.11 and 3.12 count the depth of trees for the whole interpreter: while another thread makes one,
    ``ast.parse`` and ``compile`` may raise ``SystemError`` for a valid source. After five failures it is raised.

    >>> import ast
    >>> ast.unparse(retry_trees(ast.parse, "a  =  1"))
    'a = 1'
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(SystemError):
            return read(*arguments, **named)
    return read(*arguments, **named)
