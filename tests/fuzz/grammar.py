"""Generated programs: hostile ones, and changed copies of existing programs.

All are text in the end, as an agent would send it: what the policy parses is all it ever sees.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence

from winnow.sandbox.child.language import names
from winnow.sandbox.child.language.allow_list import ALLOWED

from .choices import Choices

_DEPTH = 4
_NEWER = sys.version_info >= (3, 12)

# --- names -----------------------------------------------------------------------------------------------------

_INNER = sorted(names.FORBIDDEN)
_WATCHED = sorted(names.WATCHED)
_DUNDERS = sorted(names.READABLE | names.WRITABLE | names.DEFINABLE)
_CLOSED_DUNDERS = names.words(
    "__globals__ __code__ __closure__ __func__ __self__ __builtins__ __subclasshook__ __reduce__ __reduce_ex__ "
    "__getattribute__ __traceback__ __import__ __loader__ __spec__ __file__ __path__ __base__ __prepare__ "
    "__abstractmethods__ __instancecheck__ __subclasscheck__ __mro_entries__ __objclass__ __defaults__ "
    "__kwdefaults__ __weakref__ __thisclass__ __self_class__ __getstate__ __setstate__ __getnewargs__ __origin__"
)
_PRIVATE = names.words(
    "_x _secret _asdict _fields _make _replace _value_ _name_ _missing_ _title _data _formatter _"
)
_PLAIN = names.words(
    "x y data items append register update send throw close args real value name func keywords with_traceback "
    "add_note exceptions split derive cache_clear pattern string tzinfo fromkeys copy sort pop extend __doc__ "
    "__class__ __name__ __dict__ __init__"
)
# The same attributes as Python reads them, in letters that it folds together.
_FOLDED = ["ｘ", "ﬁelds", "ｆormat", "gi_ｆrame", "__ｃlass__", "__ｇlobals__", "ｍro", "ª", "𝓫𝓪𝓼𝓮", "ſend"]
_ANY_ATTRIBUTE = [*_PLAIN, *_PRIVATE, *_WATCHED, *_DUNDERS, *_CLOSED_DUNDERS, *_INNER, *_FOLDED]
# What the policy lets pass, or a program of twenty attributes would never run.
_ADMITTED = [name for name in _ANY_ATTRIBUTE if not names.is_forbidden(name) and name not in _FOLDED]
_BUILTINS = names.words(
    "len list tuple dict set type getattr hasattr vars dir iter next map filter sorted isinstance issubclass "
    "super "
    "object str bytes print repr hash id zip enumerate reversed sum min max any all callable format property "
    "classmethod staticmethod bytearray frozenset int float complex range slice round pow divmod abs chr ord help "
    "setattr delattr ValueError Exception BaseException ExceptionGroup AttributeError StopIteration exit Ellipsis"
)
_WITHHELD = names.words(
    "open exec eval compile globals locals input breakpoint memoryview __import__ __builtins__"
)
_POOL = names.words("a b c A B f g co gen e self cls it m kb winnow json re functools fetch semantic_search")
_MODULES = sorted(ALLOWED)
_OUTSIDE = names.words("os sys subprocess builtins ctypes gc inspect os.path json.decoder importlib _json nothing")

# `sleep` and its kin only spend the time of a test; an empty queue blocks for ever.
_IMPORTED = [name for name in _MODULES if "." not in name and name not in ("__future__", "time", "client_sdk")]

_PRELUDE = f"""\
import {", ".join(_IMPORTED)}
class A:
    x = 1
    def __init__(self, a=1): self._x = a
    def f(self): return self
class B(A):
    __match_args__ = ("x",)
    def __enter__(self): return self
    def __exit__(self, *gone): return True
def f(a=1, *b, **c): return a
def gen():
    yield 1
    yield 2
async def co(a=1): return a
a, b, c = A(), [1, "t", None], {{"x": 1}}
g, m, it = gen(), "{{0}} {{x}}", iter(b)
e = ValueError("v")
"""


class _Writer:
    """Writes one program. Each method is a rule; what is refused or does not parse is a fair program as well."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._in_async = False
        self._in_function = False

    # --- words ---

    def name(self) -> str:
        """A name, rarely a forbidden one."""
        c = self._choices
        if c.chance(60):
            return c.one(_WITHHELD + _FOLDED + _CLOSED_DUNDERS)
        return c.one(_POOL) if c.below(3) else c.one(_BUILTINS)

    def attribute(self) -> str:
        """An attribute name."""
        c = self._choices
        return c.one(_ANY_ATTRIBUTE) if c.chance(50) else c.one(_ADMITTED)

    def computed_attribute(self) -> str:
        """The name of an attribute as text, which no compiler sees."""
        text = self._choices.one(_ANY_ATTRIBUTE)
        half = len(text) // 2
        return self._choices.one([repr(text), f"{text[:half]!r} + {text[half:]!r}", f"str({text!r})"])

    def target(self) -> str:
        """A name to bind."""
        c = self._choices
        return c.one(["__match_args__", "super", *_CLOSED_DUNDERS, *_FOLDED]) if c.chance(80) else c.one(_POOL)

    # --- expressions ---

    def expression(self, depth: int = 0) -> str:
        """Any expression, in brackets where it needs them."""
        c = self._choices
        if depth >= _DEPTH or c.spent:
            return self._leaf()
        return c.one(_EXPRESSIONS)(self, depth + 1)

    def _leaf(self) -> str:
        return self._choices.one(
            [self.name(), "(1)", "'t'", "None", "(-1.5)", "b'b'", "()", "[]", "dict()", "..."]
        )

    def _attribute(self, depth: int) -> str:
        return f"{self.expression(depth)}.{self.attribute()}"

    def _by_name(self, depth: int) -> str:
        c, obj = self._choices, self.expression(depth)
        if c.below(3):
            return f"getattr({obj}, {self.computed_attribute()})"
        return f"{c.one(['hasattr', 'delattr'])}({obj}, {self.computed_attribute()})"

    def _set_by_name(self, depth: int) -> str:
        return f"setattr({self.expression(depth)}, {self.computed_attribute()}, {self.expression(depth)})"

    def _call(self, depth: int) -> str:
        return f"{self.expression(depth)}({self._arguments(depth)})"

    def _builtin(self, depth: int) -> str:
        return f"{self._choices.one(_BUILTINS)}({self._arguments(depth)})"

    def _method(self, depth: int) -> str:
        return f"{self.expression(depth)}.{self.attribute()}({self._arguments(depth)})"

    def _member(self, depth: int) -> str:
        module = self._choices.one(_IMPORTED)
        member = self._choices.one(sorted(ALLOWED[module]))
        call = f"({self._arguments(depth)})" if self._choices.below(4) else ""
        return f"{module}.{member}{call}"

    def _arguments(self, depth: int) -> str:
        given = sorted(self._argument(depth) for _ in range(self._choices.below(4)))
        return ", ".join(text for _, text in given)

    def _argument(self, depth: int) -> tuple[int, str]:
        """An argument, by position or by keyword."""
        value = self.expression(depth)
        key = self._choices.one(["x", "key", "metaclass", "default", "cls", "obj", "_", "a"])
        return self._choices.one(
            [(0, value), (0, value), (0, value), (0, f"*{value}"), (1, f"{key}={value}"), (2, f"**{value}")]
        )

    def _item(self, depth: int) -> str:
        inside = self._choices.one(["0", "'x'", "-1", ":", "1:", "::-1", self.expression(depth)])
        return f"{self.expression(depth)}[{inside}]"

    def _operation(self, depth: int) -> str:
        operator = self._choices.one(
            ["+", "-", "*", "/", "//", "%", "@", "&", "|", "^", "<<", "==", "<", "in", "is", "is not", "and", "or"]
        )
        return f"({self.expression(depth)} {operator} {self.expression(depth)})"

    def _unary(self, depth: int) -> str:
        return f"({self._choices.one(['not ', '-', '+', '~'])}{self.expression(depth)})"

    def _conditional(self, depth: int) -> str:
        return f"({self.expression(depth)} if {self.expression(depth)} else {self.expression(depth)})"

    def _display(self, depth: int) -> str:
        one, two = self.expression(depth), self.expression(depth)
        return self._choices.one([f"[{one}, {two}]", f"({one}, *{two})", f"{{{one}: {two}}}", f"{{{one}}}",
                                  f"{{**{one}, 'k': {two}}}", f"[*{one}]"])  # fmt: skip

    def _comprehension(self, depth: int) -> str:
        waits = "async " if self._in_async and self._choices.chance(4) else ""
        clause = f"{waits}for {self.target()} in {self.expression(depth)}"
        if self._choices.chance(3):
            clause += f" if {self.expression(depth)}"
        value = self.expression(depth)
        return self._choices.one(
            [f"[{value} {clause}]", f"({value} {clause})", f"{{{value} {clause}}}", f"{{{value}: 1 {clause}}}"]
        )

    def _lambda(self, depth: int) -> str:
        return f"(lambda {self._parameters(depth)}: {self.expression(depth)})"

    def _walrus(self, depth: int) -> str:
        return f"({self.target()} := {self.expression(depth)})"

    def _f_string(self, depth: int) -> str:
        value = self.expression(depth).replace("'", '"')
        ending = self._choices.one(["", "!r", "!s", ":>10", ":{a}", "=", ":%Y"])
        return f"f'''{{{value}{ending}}}'''"

    def _format(self, depth: int) -> str:
        path = self._choices.one(["", ".{0}", "[0].{0}", "[{0}]", "!r:{{x.{0}}}", ".{0}.{0}"])
        field = path.replace("{0}", self._choices.one(_ANY_ATTRIBUTE))
        template = f"'{{0{field}}}'"
        arguments = f"{self.expression(depth)}, x={self.expression(depth)}"
        return self._choices.one([
            f"{template}.format({arguments})", f"str.format({template}, {arguments})",
            f"{template}.format_map({{'0': {self.expression(depth)}}})", f"string.Template({template})",
            f"'%({field})s' % {self.expression(depth)}",
        ])  # fmt: skip

    def _waiting(self, depth: int) -> str:
        value = self.expression(depth)
        if self._in_async:
            return f"(await {value})"
        return self._choices.one([f"(yield {value})", f"(yield from {value})"]) if self._in_function else value

    # --- statements ---

    def block(self, indent: str, depth: int) -> str:
        """One to three statements."""
        count = 1 + self._choices.below(3)
        return "".join(self.statement(indent, depth) for _ in range(count))

    def statement(self, indent: str = "", depth: int = 0) -> str:
        """Any statement, with its lines."""
        rules = _SIMPLE if depth >= 3 or self._choices.below(3) == 0 else _SIMPLE + _COMPOUND
        return self._choices.one(rules)(self, indent, depth + 1)

    def _expression_statement(self, indent: str, depth: int) -> str:
        return f"{indent}{self.expression()}\n"

    def _assign(self, indent: str, depth: int) -> str:
        target = self._choices.one([
            self.target(), self.target(), f"{self.expression(2)}.{self.attribute()}",
            f"{self.expression(2)}[{self.expression(3)}]", f"{self.target()}, *{self.target()}",
            f"{self.target()} = {self.target()}", f"{self.target()}: {self.expression(3)}",
        ])  # fmt: skip
        return f"{indent}{target} = {self.expression()}\n"

    def _augmented_assignment(self, indent: str, depth: int) -> str:
        target = self._choices.one(
            [self.target(), f"{self.expression(2)}.{self.attribute()}", f"{self.name()}[0]"]
        )
        return f"{indent}{target} {self._choices.one(['+=', '|=', '-=', '@='])} {self.expression()}\n"

    def _print(self, indent: str, depth: int) -> str:
        return f"{indent}print({self.expression()}, file={self._choices.one(['None', self.expression(3)])})\n"

    def _words(self, indent: str, depth: int) -> str:
        c = self._choices
        return indent + c.one([
            "pass", f"return {self.expression()}", f"raise {self.expression()}", f"del {self.expression(2)}",
            f"global {self.target()}", f"nonlocal {self.target()}", f"assert {self.expression()}",
            f"raise {self.expression(2)} from {self.expression(2)}", "break", "continue",
            f"del {self.expression(2)}.{self.attribute()}",
        ]) + "\n"  # fmt: skip

    def _import(self, indent: str, depth: int) -> str:
        c = self._choices
        module = c.one(_OUTSIDE) if c.chance(40) else c.one(_MODULES)
        if c.below(2):
            return f"{indent}import {module}" + (f" as {self.target()}" if c.below(2) else "") + "\n"
        offered = sorted(ALLOWED.get(module, ())) or ["x"]
        member = c.one([*_ANY_ATTRIBUTE, "*", "sys", "os"]) if c.chance(20) else c.one(offered)
        return f"{indent}from {module} import {member}" + (f" as {self.target()}" if c.below(2) else "") + "\n"

    def _tolerant_import(self, indent: str, depth: int) -> str:
        c = self._choices
        module, member = c.one(_MODULES + _OUTSIDE), c.one(_ANY_ATTRIBUTE)
        line = c.one([f"from {module} import {member} as {self.target()}", f"import {module} as {self.target()}"])
        return f"{indent}try:\n{indent}    {line}\n{indent}except ImportError:\n{indent}    pass\n"

    def _if(self, indent: str, depth: int) -> str:
        body = self.block(indent + "    ", depth)
        return f"{indent}if {self.expression(1)}:\n{body}{indent}else:\n{self.block(indent + '    ', depth)}"

    def _loop(self, indent: str, depth: int) -> str:
        waits = "async " if self._in_async and self._choices.chance(4) else ""
        source = self._choices.one(["range(2)", self.expression(1)])
        return f"{indent}{waits}for {self.target()} in {source}:\n{self.block(indent + '    ', depth)}"

    def _with(self, indent: str, depth: int) -> str:
        waits = "async " if self._in_async and self._choices.chance(4) else ""
        manager = self._choices.one(["B()", self.expression(1), "contextlib.suppress(Exception)"])
        return f"{indent}{waits}with {manager} as {self.target()}:\n{self.block(indent + '    ', depth)}"

    def _try(self, indent: str, depth: int) -> str:
        inner = indent + "    "
        star = "*" if self._choices.chance(4) else ""
        caught = self._choices.one(["Exception", "(ValueError, TypeError)", self.expression(2)])
        text = f"{indent}try:\n{self.block(inner, depth)}"
        text += f"{indent}except{star} {caught} as {self.target()}:\n{self.block(inner, depth)}"
        return text + (f"{indent}finally:\n{self.block(inner, depth)}" if self._choices.chance(4) else "")

    def _match(self, indent: str, depth: int) -> str:
        text = f"{indent}match {self.expression(1)}:\n"
        for _ in range(1 + self._choices.below(3)):
            guard = f" if {self.expression(2)}" if self._choices.chance(4) else ""
            text += f"{indent}    case {self._pattern()}{guard}:\n{self.block(indent + ' ' * 8, depth)}"
        return text

    def _pattern(self, depth: int = 0) -> str:
        c = self._choices
        if depth > 2:
            return c.one([self.target(), "_", "1", "None"])
        inner = self._pattern(depth + 1)
        return c.one([
            "1", "'t'", f"{self.name()}.{self.attribute()}", f"[{inner}, *{self.target()}]",
            f"{{'x': {inner}, **{self.target()}}}", f"{self.name()}({inner})", f"({inner} as {self.target()})",
            f"{self.name()}({self.attribute()}={inner})", f"(1 | {inner})",
        ])  # fmt: skip

    def _parameters(self, depth: int) -> str:
        c = self._choices
        return c.one([
            "", "self", "a, b=1", f"a={self.expression(depth)}", "*b", "a, /, b", "*, c=1", "**c", "self, *b, **c",
            f"{self.target()}, /", f"*{self.target()}",
        ])  # fmt: skip

    def _function(self, indent: str, depth: int) -> str:
        c = self._choices
        was = self._in_async, self._in_function
        waits = c.chance(4)
        decorators = f"{indent}@{self.expression(2)}\n" if c.chance(4) else ""
        name = c.one(_DUNDERS + _CLOSED_DUNDERS) if c.chance(6) else self.target()
        generic = "[T: int, *Ts, **P]" if _NEWER and c.chance(10) else ""
        head = f"{'async ' if waits else ''}def {name}{generic}({self._parameters(2)})"
        self._in_async, self._in_function = waits, True
        body = self.block(indent + "    ", depth)
        self._in_async, self._in_function = was
        call = f"{indent}{name}()\n" if c.below(2) else ""
        return f"{decorators}{indent}{head}:\n{body}{call}"

    def _class(self, indent: str, depth: int) -> str:
        c = self._choices
        inner = indent + "    "
        bases = c.one(["", "A", "B", "abc.ABC", "enum.Enum", "dict", "str", "Exception", "typing.NamedTuple",
                       "typing.Generic", "typing.Protocol", "collections.UserDict", "metaclass=abc.ABCMeta",
                       self.expression(2), f"A, metaclass={self.expression(2)}",
                       f"A, x={self.expression(3)}"])  # fmt: skip
        decorator = c.one(["", "", "", "@dataclasses.dataclass\n", f"@{self.expression(2)}\n"])
        decorator = indent + decorator if decorator else ""
        generic = "[T]" if _NEWER and c.chance(10) else ""
        members = c.one(["", f"{inner}x: int = 1\n", f"{inner}__slots__ = ('x', '_y')\n",
                         f"{inner}__match_args__ = ({c.one(_ANY_ATTRIBUTE)!r},)\n",
                         f"{inner}{c.one(_ADMITTED)} = {self.expression(2)}\n"])  # fmt: skip
        head = f"{decorator}{indent}class {c.one(['A', 'B', 'C'])}{generic}({bases}):\n"
        return head + members + self.block(inner, depth)

    def _alias(self, indent: str, depth: int) -> str:
        return f"{indent}type {self.target()} = {self.expression()}\n" if _NEWER else f"{indent}pass\n"

    def program(self) -> str:
        """A whole program: definitions of names, then statements until the tape ends."""
        text = _PRELUDE if self._choices.below(8) else ""
        for _ in range(40):
            if self._choices.spent:
                break
            statement = self.statement()
            # A failing statement must not stop the rest.
            if self._choices.below(3):
                body = "".join(f"    {line}\n" for line in statement.splitlines())
                statement = f"try:\n{body}except Exception as e:\n    print(e)\n"
            text += statement
        return text


_EXPRESSIONS: Sequence[Callable[[_Writer, int], str]] = (
    lambda writer, depth: writer._leaf(),
    _Writer._attribute,
    _Writer._call,
    _Writer._method,
    _Writer._member,
    _Writer._builtin,
    _Writer._by_name,
    _Writer._set_by_name,
    _Writer._item,
    _Writer._operation,
    _Writer._unary,
    _Writer._conditional,
    _Writer._display,
    _Writer._comprehension,
    _Writer._lambda,
    _Writer._walrus,
    _Writer._f_string,
    _Writer._format,
    _Writer._waiting,
)
_SIMPLE: Sequence[Callable[[_Writer, str, int], str]] = (
    _Writer._expression_statement,
    _Writer._assign,
    _Writer._print,
    _Writer._augmented_assignment,
    _Writer._import,
    _Writer._words,
    _Writer._alias,
)
_COMPOUND: Sequence[Callable[[_Writer, str, int], str]] = (
    _Writer._if,
    _Writer._loop,
    _Writer._function,
    _Writer._class,
    _Writer._match,
    _Writer._try,
    _Writer._with,
    _Writer._tolerant_import,
)


def hostile(choices: Choices) -> str:
    """Generate a program that attacks the fence."""
    return _Writer(choices).program()


# --- changed copies of programs --------------------------------------------------------------------------------


class _Mutation(ast.NodeTransformer):
    """Now and then another name, another attribute, another text, or the same attribute read by name."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._writer = _Writer(choices)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if self._choices.chance(16):
            node.id = self._choices.one(_POOL + _BUILTINS)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if self._choices.chance(8):
            node.attr = self._choices.one(_ANY_ATTRIBUTE)
        elif isinstance(node.ctx, ast.Load) and self._choices.chance(4):
            read = ast.Name("getattr", ast.Load())
            return ast.Call(read, [node.value, ast.Constant(node.attr)], [])
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, str) and self._choices.chance(8):
            return ast.Constant(self._choices.one(_ANY_ATTRIBUTE))
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return node


def mutate(choices: Choices, programs: Sequence[str]) -> str:
    """Combine one or two of these programs and change parts of them."""
    first = choices.one(programs)
    try:
        tree = ast.parse(first)
        if choices.chance(2):
            tree.body += ast.parse(choices.one(programs)).body
    except (SyntaxError, ValueError):
        return _mutated_lines(choices, first)
    body = [ast.fix_missing_locations(_Mutation(choices).visit(statement)) for statement in tree.body]
    if choices.chance(3) and len(body) > 1:
        del body[choices.below(len(body))]
    try:
        text = "\n".join(ast.unparse(statement) for statement in body) + "\n"
    except (ValueError, RecursionError):  # a text that no f-string can hold
        return _mutated_lines(choices, first)
    if choices.chance(4):
        wrapping = choices.one(["async def main():", "def main():", "class Main:", "try:"])
        text = f"{wrapping}\n" + "".join(f"    {line}\n" for line in text.splitlines())
        text += {
            "async def main():": "await main()\n",
            "def main():": "main()\n",
            "try:": "finally:\n    pass\n",
        }.get(wrapping, "")
    return text


def _mutated_lines(choices: Choices, text: str) -> str:
    lines = text.splitlines(keepends=True) or ["\n"]
    for _ in range(1 + choices.below(3)):
        one, two = choices.below(len(lines)), choices.below(len(lines))
        if choices.chance(2):
            lines[one], lines[two] = lines[two], lines[one]
        else:
            lines.insert(one, lines[two])
    return "".join(lines)
