"""The policy: which syntax scripts may use, and where the compiled code calls a guard.

It extends RestrictedPython's transformer, which refuses much everyday Python. The policy admits more, with guards,
but still refuses every node that it does not know. It differs from RestrictedPython in three ways:

* Guards have names that no source text can spell (``@attribute``), so no parameter, import, class body or pattern
  can shadow or rebind them.
* Harmless code is left unchanged. A plain attribute, an item or an iteration compiles as in CPython and runs as
  fast; only names in the tables of names.py go through a guard.
* The module becomes a function whose names are all global. Top-level ``return`` and ``await`` work, lines and
  columns stay those of the source, and functions still see the module's names.

The tree that is checked is the tree that is compiled and run.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Iterable
from typing import Any, TypeVar

from . import names
from .bound_names import all_bound_names, top_level_names
from .import_advice import advise_member, advise_module
from .refusals import Rejected
from .transformer import MATCH_ARGS_NAME, SLOTS_NAME, CheckedTransformer

# The names under which the compiled code calls the guards.
ATTRIBUTE, TARGET, CHANGED, SLOTS, LAST, END = "@attribute", "@target", "@changed", "@slots", "@last", "@end"
OPERATOR, OPERAND, TYPE, CLOSED = "@operator", "@operand", "@type", "@closed"
CONSTRUCTOR = "@constructor"

ENTRY = "<module>"  # the function that the module becomes

_Node = TypeVar("_Node", bound=ast.AST)


class Policy(CheckedTransformer):
    """A visit of every node once. The first refusal ends it with Rejected."""

    # --- attributes ---

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Leave plain names unchanged when read; guard other names, and every write."""
        name = self._mangled(node.attr)
        if isinstance(node.ctx, ast.Load):
            self._check_readable(node, name)
            node = self.node_contents_visit(node)
            return node if names.is_plain(name) else self._guard_attribute(node, name)
        self._check_writable(node, name)
        node = self.node_contents_visit(node)
        node.value = _call_guard(TARGET, [node.value, ast.Constant(name)], node.value)
        return node

    def _guard_attribute(self, node: ast.Attribute, name: str) -> ast.AST:
        return _call_guard(ATTRIBUTE, [node.value, ast.Constant(name)], node)

    def _check_readable(self, node: ast.AST, name: str) -> None:
        if names.is_forbidden(name):
            self.refuse(node, f"the attribute {name!r} is not available", names.instead(name))

    def _check_writable(self, node: ast.AST, name: str) -> None:
        self._check_readable(node, name)
        if names.is_dunder(name) and name not in names.WRITABLE:
            self.refuse(node, f"the attribute {name!r} may not be set", "define it in the class body")

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Guard ``x._name += 1`` as a write and as a read: the interpreter reads the attribute without a guard."""
        if not isinstance(node.target, ast.Attribute):
            return self.node_contents_visit(node)
        name = self._mangled(node.target.attr)
        if name in names.WATCHED:
            self.refuse(node, f"the attribute {name!r} may not be changed in place")
        node = self.node_contents_visit(node)
        if not names.is_plain(name):
            node.target.value.func.id = CHANGED  # type: ignore[union-attr]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Admit it: items carry nothing dangerous."""
        return self.node_contents_visit(node)

    # --- statements that bind ---

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Admit it; `__match_args__` names attributes, so it must be a literal tuple of plain names."""
        self._check_match_args(node.targets, node.value)
        return self._guard_value(node, node.targets)

    def _guard_value(self, node: ast.Assign | ast.AnnAssign, targets: Iterable[ast.expr]) -> ast.AST:
        """Guard the value of `__slots__`, which names attributes as well, of `__new__`, and of an operator."""
        bound = [target for target in targets if isinstance(target, ast.Name) and target.id in _GUARDED_VALUES]
        self._plainly_bound.update(bound)
        self.node_contents_visit(node)
        for target in bound:
            if node.value is not None:
                node.value = _call_guard(_GUARDED_VALUES[target.id], [node.value], node.value)
        return node

    def _check_match_args(self, targets: Iterable[ast.expr], value: ast.expr | None) -> None:
        for target in targets:
            if isinstance(target, ast.Name) and target.id == MATCH_ARGS_NAME and isinstance(value, ast.Tuple):
                self._plainly_bound.add(target)
                for element in value.elts:
                    self._check_match_arg(element)

    def _check_match_arg(self, element: ast.expr) -> None:
        name = element.value if isinstance(element, ast.Constant) else None
        if not isinstance(name, str) or not names.is_plain(name):
            self.refuse(element, f"{MATCH_ARGS_NAME} takes literal names of public attributes")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """Keep annotations in class bodies, where they have a meaning; remove them elsewhere."""
        self._check_match_args([node.target], node.value)
        if self._in_class_body():
            return self._guard_value(node, [node.target])
        if node.value is not None:
            plain = ast.Assign(targets=[node.target], value=node.value)
            return self.visit_Assign(ast.copy_location(plain, node))
        if not self._scopes:
            return ast.copy_location(ast.Pass(), node)
        node.annotation = ast.copy_location(ast.Constant(None), node.annotation)
        return self.node_contents_visit(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        """Admit it."""
        return self.node_contents_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Admit it; an asynchronous one at the top level makes the script asynchronous."""
        if node.is_async:
            self._mark_async()
        return self.node_contents_visit(node)

    def visit_With(self, node: ast.With) -> ast.AST:
        """Admit it."""
        return self.node_contents_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """Admit it."""
        self._bind(node, node.name)
        return self.node_contents_visit(node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        """Remove it at the top level, where every name is global already."""
        for name in node.names:
            self._bind(node, name)
        return node if self._scopes else ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        """Admit it."""
        for name in node.names:
            self._bind(node, name)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        """Admit it: its target is a name."""
        return self.node_contents_visit(node)

    # --- functions and classes ---

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Remove annotations: scripts do not see them evaluated, and they may name missing types."""
        return self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Treat it like a function."""
        return self._visit_function(node)

    def _visit_function(self, node: Any) -> ast.AST:
        if names.is_dunder(node.name) and not (self._in_class_body() and node.name in names.DEFINABLE):
            hint = names.instead(node.name, "name it without double underscores")
            self.refuse(node, f"a method {node.name!r} may not be defined", hint)
        takes_operands = self._in_class_body() and node.name in names.WITH_OPERANDS
        constructs = self._in_class_body() and node.name == names.CONSTRUCTOR
        if takes_operands or constructs:
            self._plainly_bound.add(node)
        self._bind(node, node.name)
        node.returns = None
        node.type_comment = None
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        self._visit_defaults(node.args)
        registered = self._visit_register_annotation(node)
        with self._inside(node):
            self._bind_parameters(node.args)
            for parameter in getattr(node, "type_params", []):
                self.visit(parameter)
            self._visit_body(node)
        if registered is not None:
            node.args.args[0].annotation = registered
        if takes_operands:
            _check_operands(node)
        if constructs:
            node.decorator_list.insert(0, ast.copy_location(ast.Name(CONSTRUCTOR, ast.Load()), node))
        return node  # type: ignore[no-any-return]

    def _visit_register_annotation(self, node: Any) -> ast.expr | None:
        """The annotation that the decorator `.register` of functools.singledispatch reads."""
        last = node.decorator_list[-1] if node.decorator_list else None
        if isinstance(last, ast.Attribute) and last.attr == "register" and node.args.args:
            annotation = node.args.args[0].annotation
            return annotation and self.visit(annotation)  # type: ignore[no-any-return]
        return None

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Treat it like a function."""
        self._visit_defaults(node.args)
        with self._inside(node):
            self._bind_parameters(node.args)
            node.body = self.visit(node.body)
        return node

    def _visit_defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.visit(default) for default in arguments.defaults]
        arguments.kw_defaults = [default and self.visit(default) for default in arguments.kw_defaults]

    def _bind_parameters(self, arguments: ast.arguments) -> None:
        several = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for parameter in [*several, arguments.vararg, arguments.kwarg]:
            if parameter is not None:
                self._bind(parameter, parameter.arg)
                parameter.annotation = None

    def _visit_body(self, node: Any) -> None:
        body: list[ast.stmt] = []
        for statement in node.body:
            visited = self.visit(statement)
            if visited is not None:
                body.append(visited)
        node.body = body

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Visit the parts; bases and keywords are checked at run time by classes.build_class."""
        self._bind(node, node.name)
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.bases = [self.visit(base) for base in node.bases]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        with self._inside(node):
            for parameter in getattr(node, "type_params", []):
                self.visit(parameter)
            self._visit_body(node)
        return node

    def visit_TypeVar(self, node: Any) -> Any:
        """Check the name that it binds (Python 3.12 and later)."""
        self._bind(node, node.name)
        return self.node_contents_visit(node)

    visit_ParamSpec = visit_TypeVarTuple = visit_TypeVar

    # --- await and yield ---

    def _mark_async(self) -> None:
        if not self._scopes:
            self.is_async = True

    def visit_Await(self, node: ast.Await) -> ast.AST:
        """Admit it in async functions and at the top level."""
        self._mark_async()
        return self.node_contents_visit(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        """Treat it like await."""
        self._mark_async()
        return self.node_contents_visit(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.AST:
        """Treat it like await."""
        self._mark_async()
        return self.node_contents_visit(node)

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        """Admit it in functions."""
        self._check_yield(node)
        return self.node_contents_visit(node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        """Admit it in functions."""
        self._check_yield(node)
        return self.node_contents_visit(node)

    def _check_yield(self, node: ast.expr) -> None:
        if not self._scopes:
            raise Rejected("SyntaxError", "'yield' outside function", node.lineno, self._column(node))

    def visit_If(self, node: ast.If) -> ast.AST:
        """Admit it; imports under TYPE_CHECKING may name missing modules."""
        node.test = self.visit(node.test)
        for_checkers = "TYPE_CHECKING" in (getattr(node.test, "id", None), getattr(node.test, "attr", None))
        self._tolerant += for_checkers
        node.body = [self.visit(statement) for statement in node.body]
        self._tolerant -= for_checkers
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    # --- try ---

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """Let an import in a try that catches ImportError fail at run time instead of here."""
        tolerant = any(_catches_import_error(handler) for handler in node.handlers)
        self._tolerant += tolerant
        node.body = [self.visit(statement) for statement in node.body]
        self._tolerant -= tolerant
        node.handlers = [self.visit(handler) for handler in node.handlers]
        node.orelse = [self.visit(statement) for statement in node.orelse]
        node.finalbody = [self.visit(statement) for statement in node.finalbody]
        return node

    def visit_TryStar(self, node: ast.AST) -> ast.AST:
        """Admit it: safe, because no script defines an exception group (classes.build_class) or replaces a method
        of one (writes.writable_target).
        """
        return self.node_contents_visit(node)

    # --- patterns ---

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        """Admit plain keywords only: the interpreter reads them as attributes, without a guard."""
        for name in node.kwd_attrs:
            if not names.is_plain(name):
                self.refuse(node, f"the attribute {name!r} may not be matched", "test it in the case's body")
        self._check_pattern_value(node.cls)
        return self.node_contents_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        """Admit plain dotted names only: a pattern cannot call a guard."""
        self._check_pattern_value(node.value)
        return self.node_contents_visit(node)

    def _check_pattern_value(self, value: ast.expr) -> None:
        for node in ast.walk(value):
            if isinstance(node, ast.Attribute) and not names.is_plain(node.attr):
                self.refuse(
                    node, f"the attribute {node.attr!r} may not stand in a pattern", "bind it to a name first"
                )

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.AST:
        """Admit it."""
        self._bind(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.AST:
        """Admit it."""
        self._bind(node, node.name)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        """Admit it."""
        self._bind(node, node.rest)
        return self.node_contents_visit(node)

    # --- imports ---

    def visit_Import(self, node: ast.Import) -> ast.AST:
        """Admit modules of the allow-list only."""
        for alias in node.names:
            self._bind(node, alias.asname or alias.name.partition(".")[0])
            self._check_module(node, alias.name)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """Admit members of the allow-list only; replace a star by their names."""
        module = node.module or ""
        if node.level or not module:
            self.refuse(node, "relative imports do not work in a script", "import a module by its name")
        if module == "__future__":
            return self._visit_future_import(node)
        self._check_module(node, module)
        if node.names[0].name == "*":
            offered = sorted(self._allowed.get(module, frozenset()))
            node.names = [ast.copy_location(ast.alias(name), node) for name in offered]
        for alias in node.names:
            self._bind(node, alias.asname or alias.name)
            self._check_member(node, alias.name)
        return node

    def _visit_future_import(self, node: ast.ImportFrom) -> ast.AST:
        for alias in node.names:
            if alias.name not in __future__.all_feature_names:
                raise Rejected("SyntaxError", f"future feature {alias.name} is not defined", node.lineno)
            self.flags |= getattr(__future__, alias.name).compiler_flag
        return ast.copy_location(ast.Pass(), node)

    def _check_module(self, node: ast.AST, module: str) -> None:
        if module in self._allowed or self._tolerant:
            return
        advice = advise_module(module, self._allowed)
        self.refuse(node, f"the module {module!r} is not available in a script", advice)

    def _check_member(self, node: ast.ImportFrom, name: str) -> None:
        offered = self._allowed.get(str(node.module), frozenset())
        # Only a plain name that is missing may fail at run time instead of here.
        if (
            name in offered
            or f"{node.module}.{name}" in self._allowed
            or (self._tolerant and names.is_plain(name))
        ):
            return
        hint = advise_member(str(node.module), name, self._allowed)
        self.refuse(node, f"{node.module!r} does not offer {name!r} to a script", hint)

    # --- the module ---

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Visit the statements in order."""
        self._bound = frozenset(all_bound_names(node))
        self._visit_body(node)
        return node

    def entry(self, tree: ast.Module) -> ast.Module:
        """The module as a function with global names, which returns the value of the script."""
        body = list(tree.body)
        if body and isinstance(body[-1], ast.Expr):
            last = body[-1]
            body[-1] = ast.copy_location(ast.Return(_call_guard(LAST, [last.value], last.value)), last)
        else:
            body.append(ast.Return(ast.Name(END, ast.Load())))
        bound = sorted(set(top_level_names(tree.body)))
        if bound:
            body.insert(0, ast.Global(bound))
        kind: Any = ast.AsyncFunctionDef if self.is_async else ast.FunctionDef
        arguments = ast.arguments([], [], None, [], [], None, [])
        function = kind(name=ENTRY, args=arguments, body=body, decorator_list=[], returns=None)
        function.type_params = []  # of Python 3.12 and later
        module = ast.Module(body=[function], type_ignores=[])
        return ast.fix_missing_locations(module)


def _admit(*kinds: str) -> None:
    """Admit nodes that need no check of their own. Some exist in later Pythons only."""

    def visit(self: Policy, node: _Node) -> _Node:
        """Admit it."""
        return self.node_contents_visit(node)

    for kind in kinds:
        setattr(Policy, f"visit_{kind}", visit)


_admit("Call", "Match", "match_case", "MatchSequence", "MatchSingleton", "MatchOr", "Expression", "withitem")
_admit("TypeAlias")


_GUARDED_VALUES = {
    SLOTS_NAME: SLOTS,
    names.CONSTRUCTOR: CONSTRUCTOR,
    **dict.fromkeys(names.WITH_OPERANDS, OPERATOR),
}


def _check_operands(node: Any) -> None:
    """Make an operator check its operands before anything else, and guard the result of its decorators."""
    first = int(bool(node.body) and ast.get_docstring(node, clean=False) is not None)
    positional = [*node.args.posonlyargs, *node.args.args]
    checks = [_check_operand(ast.Name(each.arg, ast.Load()), node) for each in positional[1:]]
    if node.args.vararg is not None:
        operand = ast.Name(f"@{node.args.vararg.arg}", ast.Load())
        several = ast.Name(node.args.vararg.arg, ast.Load())
        loop = ast.For(ast.Name(operand.id, ast.Store()), several, [_check_operand(operand, node)], [])
        checks.append(ast.copy_location(loop, node))
    node.body[first:first] = checks
    if node.decorator_list:
        node.decorator_list.insert(0, ast.copy_location(ast.Name(OPERATOR, ast.Load()), node.decorator_list[0]))


def _check_operand(operand: ast.expr, where: ast.AST) -> ast.stmt:
    """``if type(operand) in LOOKED_AT: check(operand)``, inline, because most operands are of other types."""
    test = ast.Compare(_call_guard(TYPE, [operand], where), [ast.In()], [ast.Name(CLOSED, ast.Load())])
    check = ast.Expr(_call_guard(OPERAND, [operand], where))
    return ast.fix_missing_locations(ast.copy_location(ast.If(test, [check], []), where))


def _call_guard(guard: str, arguments: list[ast.expr], where: ast.AST) -> ast.Call:
    call = ast.Call(func=ast.Name(guard, ast.Load()), args=arguments, keywords=[])
    ast.copy_location(call, where)
    ast.copy_location(call.func, where)
    for argument in arguments:
        if not hasattr(argument, "lineno"):
            ast.copy_location(argument, where)
    return call


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    caught = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(caught & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
