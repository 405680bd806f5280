"""The names that the nodes of a syntax tree bind."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The names that this node itself binds."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)) | ast.arg(arg=name):
            yield name


def all_bound_names(tree: ast.AST) -> Iterator[str]:
    """The names bound anywhere in the script, in any scope."""
    for node in every_node(tree):
        if node.__class__ is not ast.Name or node.ctx.__class__ is not ast.Load:
            yield from _bound_by(node)


_CHILDLESS = frozenset({ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, ast.alias})


def every_node(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, in no particular order; faster than ast.walk, which looks fields up by name."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        if node.__class__ in _CHILDLESS:
            continue
        for value in node.__dict__.values():
            if value.__class__ is list:
                pending += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                pending.append(value)


def top_level_names(nodes: Iterable[ast.AST], *, walrus_only: bool = False) -> Iterator[str]:
    """The names bound in the module's own scope."""
    for node in nodes:
        if isinstance(node, ast.NamedExpr):
            yield node.target.id
            yield from top_level_names([node.value], walrus_only=walrus_only)
            continue
        if not walrus_only:
            yield from _bound_by(node)
        yield from top_level_names(_children_in_scope(node), walrus_only=walrus_only or _is_comprehension(node))


def _is_comprehension(node: ast.AST) -> bool:
    return isinstance(node, _COMPREHENSIONS)


def _children_in_scope(node: ast.AST) -> list[ast.AST]:
    """The node's children that are evaluated in the same scope as the node."""
    if isinstance(node, _FUNCTIONS):
        return [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    if isinstance(node, ast.Lambda):
        return [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
    return list(ast.iter_child_nodes(node))
