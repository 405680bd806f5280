"""Generated benign programs; CPython's output is the expected output.

The rules are a table. ``<n>`` stands for another number, ``<t>`` a text, ``<l>`` a list, ``<d>`` a dict, ``<v>``
any of these, ``<?>`` a condition, ``<block>`` some statements, ``<#>`` a number of its own. Names are typed by
their first letter. The first rules of each kind are its leaves.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping

from .choices import Choices

_PRELUDE = """\
import asyncio, collections, contextlib, copy, dataclasses, datetime, decimal, enum, fractions, functools, heapq
import io, itertools, json, math, operator, re, statistics, string, textwrap, typing
from dataclasses import dataclass, field
class Own(Exception):
    pass
class Base:
    n = 0
    def __init__(self, n=1):
        self.n = n
    def __repr__(self):
        return f"{type(self).__name__[0]}({self.n!r})"
class Box:
    def __init__(self):
        self.n, self.data = 0, {}
def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **more):
        print("call", function.__name__, len(args))
        return function(*args, **more)
    return wrapper
@contextlib.contextmanager
def managed(text):
    print("in", text)
    try:
        yield text
    finally:
        print("out")
def f0(a, b=2): return a
def f1(a, b=3, *c): return b
f2 = lambda *a: len(a)
def g0(items=()): yield from items
g1 = g2 = g0
box = Box()
n0, n1, n2 = 1, 2.5, -3
t0, t1, t2 = "text", "", "Über"
l0, l1, l2 = [1, 2], [], ["x", [None]]
d0, d1, d2 = {"k": 1}, {}, {"a": [1]}
"""
_LAST = "print(n0, n1, n2, t0, t1, t2, l0, l1, l2, d0, d1, d2, box.n, box.data)\n"
_LEAVES = 6
_DEPTH = 3

_EXPRESSIONS: Mapping[str, str] = {
    "n": """
        n0 | n1 | 7 | -2.5 | True | (10 ** 20)
        n2 | (<n> + <n>) | (<n> - <n>) | (<n> * <n>) | (<n> // <n>) | (<n> / <n>) | (<n> % 7) | len(<l>) | abs(<n>)
        sum(x for x in <l> if type(x) is int) | (<n> if <?> else <n>) | max(<n>, <n>) | round(<n>, 2)
        f0(<n>, <n>)
        f1(<n>, <n>) | f2(*<l>) | -(<n>) | (lambda a, *b, k=2: a + k)(<n>, <n>) | divmod(<n>, 3)[0]
        <d>.get('k', <n>)
        functools.reduce(operator.add, [<n>, <n>], 1) | (n9 := <n>) | math.floor(<n>) | int(math.sqrt(abs(<n>)))
        statistics.mean([<n>, <n>, 1]) | (int(<n>) & 255 ^ 3) | (hash(<n>) % 7)
        float(fractions.Fraction(int(<n>), 3))
        float(decimal.Decimal(int(<n>)) / 7) | datetime.timedelta(hours=1).total_seconds() | <t>.count('e')
        ord('ü')
    """,
    "t": """
        t0 | t1 | 'a' | 'Two words' | 'ü€😀' | '1,2;3'
        t2 | '' | '\\x0c\\u2028' | 'line\\nline' | '{x}' | (<t> + <t>) | <t>[1:] | <t>[::-1] | <t>[-3:-1]
        (<t> * 2)
        <t>.upper() | <t>.title() | <t>.strip() | <t>.casefold() | <t>.zfill(6) | <t>.center(9, '*') | repr(<t>)
        str(<n>)
        ', '.join(str(x) for x in <l>) | <t>.replace(<t>, '_') | '{:>8}~{!r:<6.4}~{k}'.format(<t>, <t>, k=<n>)
        ascii(<t>)
        ('%s-%5.1f' % (<t>, <n>)) | f'{n0:>+9.3f}' | f'{t0!r:^12}' | f"{n1=}" | json.dumps(<v>, sort_keys=True)
        re.sub('[aeiou]', '*', <t>) | textwrap.shorten(<t>, 5, placeholder='..') | type(<v>).__name__ | str(<v>)
        '{0[0]}{1.real}'.format([<t>], <n>) | string.Template('$a').substitute(a=<t>) | <t>.partition(' ')[2]
        str(datetime.date(2026, 1, 31)) | <t>.encode().decode('latin-1') | bytes(<t>, 'utf-8').hex() | chr(956)
    """,
    "l": """
        l0 | l1 | [] | [3, 1, 2] | list(range(4)) | ['a', 'b']
        l2 | [<v>, <n>] | [*<l>, <v>] | <l>[1:] | <l>[::-1] | (<l> + <l>) | (<l> * 2)
        sorted(<l>, key=str, reverse=<?>)
        [x for x in <l> if <?>] | [(x, y) for x in <l> for y in range(2)] | list(map(str, <l>))
        list(zip(<l>, range(9)))
        list(enumerate(<l>)) | list(g0(<l>)) | list(<d>) | list(<d>.items()) | list(itertools.chain(<l>, <l>))
        list(reversed(<l>)) | copy.deepcopy(<l>) | list(itertools.islice(itertools.cycle([<v>]), 3)) | <t>.split()
        heapq.nsmallest(2, [len(str(x)) for x in <l>]) | re.findall(r'\\w', <t>)
        [[y for y in (x, x)] for x in <l>]
        list(dict.fromkeys(map(str, <l>))) | collections.Counter(map(str, <l>)).most_common(2)
        list({*map(str, <l>)})
        [f() for f in [lambda: x for x in <l>]] | list(collections.deque(<l>, maxlen=2)) | list(g1(<l>))
        list(<t>)
    """,
    "d": """
        d0 | d1 | {} | {'k': 1} | {'k': 'v', 'n': 2.5} | dict(a=[1])
        d2 | {'k': <n>, 'x': <v>} | {**<d>, 'y': 2} | {str(x): len(str(x)) for x in <l>} | (d0 ~ {'z': <t>})
        dict(k=<v>)
        dict(sorted(<d>.items())) | json.loads(json.dumps(<d>)) | {k: v for k, v in <d>.items() if k}
        vars(Base(<n>))
        collections.defaultdict(list, <d>) | collections.OrderedDict(<d>) | dict(zip(map(str, <l>), <l>))
    """,
    "?": """
        n0 | t0 | True | l1 | d0 | not n1
        <n> < <n> | 0 <= <n> <= <n> != 3 | not <n> | <n> and <n> | <l> | <t> in <t> | isinstance(<v>, int)
        <n> is None
        any(x for x in <l>) | <t> > <t> | <l> == <l> | len(<t>) % 2 == 0 | callable(<v>) | <n> in <l> | all(<d>)
    """,
    "v": "<n> | <t> | <l> | <d> | None | (<n>, <t>)",
}

_SIMPLE = """
    print(<v>, <v>, sep='~')
---
    n0 = <n>
---
    l1 = <l>
---
    d1 = <d>
---
    print(<v>)
---
    t1 = <t>
---
    n1 += <n>
---
    n2: int = <n>
---
    l0 += <l>
---
    d0[<t>] = <v>
---
    l2[1:2] = <l>
---
    n0, *l0 = [1, *<l>]
---
    l1.append(<v>)
---
    (n0, n1), t0 = (n1, n0), t1
---
    d2.setdefault('s', []).append(<v>)
---
    box.n += 1
    box.data[<t>] = <n>
---
    del l2[:1]
---
    print(*<l>, sep='')
---
    try:
        <risk>
    except (ValueError, KeyError) as e:
        print(type(e).__name__, e)
    except Exception as e:
        print(type(e).__name__, e, e.args, e.__cause__)
    else:
        print('no error')
    finally:
        print('finally')
---
    if <?> and <?>:
        <risk>
"""

_RISKS = """
    1 // 0 | [][5] | {}['missing'] | int('x') | nobody | None.some | raise Own(1, <t>) | 'a' + 1 | [].pop()
    len(5) | f0() | n0, n1 = [1] | next(iter([])) | raise Own from ValueError('v') | json.loads('{')
    re.compile('(') | assert n0 is t0, <t> | <l>[9] | <d>['k'] | int(<t>) | 1 / <n> | raise KeyError(<t>)
    <t>.index('q')
    f0(nope=1)
"""

_COMPOUND = """
    if <?>:
        <block>
    elif <?>:
        <block>
    else:
        <block>
---
    for n2, x in enumerate(<l>[:3]):
        if <?>:
            continue
        <block>
    else:
        print('done')
---
    for t2, x in list(<d>.items())[:3]:
        <block>
        if <?>:
            break
---
    x = 0
    while x < 3:
        x += 1
        <block>
---
    def f0(a=1, b=2, *rest, key=None, **more):
        count = len(rest)
        def step():
            nonlocal count
            count += 1
            return count
        return step() + step() + len(more)
    print(f0(<n>, <n>, <n>), f0(key=<t>, other=<t>))
---
    @traced
    def h<#>(a, b=<n>, /):
        global n1
        n1 = 5
        <block>
        return a, b
    print(h<#>(<v>), h<#>.__name__)
---
    @functools.lru_cache(maxsize=None)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)
    print(fib(30))
---
    def g<#>(items=()):
        try:
            for x in items:
                got = yield x
                print('got', got)
            return <n>
        finally:
            print('closed')
    def all<#>():
        n = yield from g<#>([1, <v>])
        yield n
    print(list(all<#>()))
    g = g<#>(<l>)
    print(next(g, 'none'))
    g.close()
---
    class C<#>(Base):
        size = <n>
        def __init__(self, n):
            super().__init__(n)
            self._own = <t>
            self.__mine = n
        @property
        def shown(self):
            return self._own, self.__mine, self.size
        @classmethod
        def made(cls):
            return cls(<n>)
        def __eq__(self, other):
            return self.n == other.n
        def __len__(self):
            return 3
        def __getitem__(self, key):
            return key
    x = C<#>.made()
    print(x, x.shown, x == x, len(x), x[1:2], C<#>.__mro__[1].__name__, hasattr(x, 'no'), isinstance(x, Base))
---
    @dataclass(order=True)
    class D<#>:
        a: int
        b: list = field(default_factory=list)
        def total(self):
            return self.a + len(self.b)
    x = D<#>(1, <l>)
    print(x, x.total(), dataclasses.asdict(x), x == copy.copy(x), dataclasses.replace(x, a=<n>))
---
    class E<#>(enum.Enum):
        ONE = <t>, 1
        TWO = enum.auto()
        @property
        def low(self):
            return self.name.lower()
    print(list(E<#>), E<#>.ONE.low, E<#>['TWO'])
---
    P<#> = collections.namedtuple('P<#>', 'a b', defaults=[<n>])
    print(P<#>(1), P<#>(1)._replace(a=<t>), P<#>._fields, *P<#>(1, 2))
---
    class T<#>(typing.NamedTuple):
        a: int
        b: str = <t>
    print(T<#>(1)._asdict())
---
    class M<#>(dict):
        def __missing__(self, key):
            return key * 2
    print(M<#>()['ab'], M<#>(a=<v>))
---
    match <v>:
        case int(n) if n > 2:
            <block>
        case [first, *_] | (first, _):
            print('first', first)
        case {'k': k, **others}:
            print(k, others)
        case str() as text:
            <block>
        case None | 2.5:
            print('none')
        case other:
            print('other', other)
---
    match Base(<n>):
        case Base(n=0 | 1):
            <block>
        case Base(n=n):
            print(n)
---
    with managed(<t>) as t2, contextlib.suppress(KeyError):
        <block>
        {}['gone']
---
    async def main<#>(n):
        await asyncio.sleep(0)
        return n, <v>
    async def all<#>():
        async def numbers():
            for n in range(2):
                yield n
        print([n async for n in numbers()])
        return await asyncio.gather(*(main<#>(n) for n in range(2)))
    print(asyncio.run(all<#>()))
"""


def _alternatives(text: str) -> list[str]:
    return [rule.strip().replace("~", "|") for line in text.strip().splitlines() for rule in line.split(" | ")]


def _shapes(text: str) -> list[str]:
    return [textwrap.dedent(shape).strip("\n") for shape in text.split("---\n")]


_RULES = {kind: _alternatives(text) for kind, text in {**_EXPRESSIONS, "risk": _RISKS}.items()}
_STATEMENTS = _shapes(_SIMPLE) + _shapes(_COMPOUND)
_FLAT = _shapes(_SIMPLE)


class _Writer:
    """Fills in rules."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._number = 0

    def _expression(self, kind: str, depth: int) -> str:
        rules = _RULES[kind]
        if kind in _EXPRESSIONS and (depth > _DEPTH or self._choices.spent):
            rules = rules[:_LEAVES]
        rule = self._choices.one(rules)
        return re.sub(r"<([ntldv?])>", lambda found: self._expression(found[1], depth + 1), rule)

    def statement(self, depth: int = 0) -> str:
        """One statement, with its lines."""
        self._number += 1
        shape = self._choices.one(_STATEMENTS if depth < 2 else _FLAT).replace("<#>", str(self._number))
        return "".join(self._line(line, depth) for line in shape.splitlines())

    def _line(self, line: str, depth: int) -> str:
        if line.endswith("<block>"):
            block = "".join(self.statement(depth + 1) for _ in range(1 + self._choices.below(2)))
            return textwrap.indent(block, line.removesuffix("<block>"))
        return re.sub(r"<(risk|[ntldv?])>", lambda found: self._expression(found[1], 1), line) + "\n"


def benign(choices: Choices) -> str:
    """Generate a program that runs on CPython, and prints."""
    writer, text = _Writer(choices), _PRELUDE
    for _ in range(30):
        if choices.spent:
            break
        statement = writer.statement()
        # A failing statement must not stop the rest; now and then it may end the program.
        if not choices.chance(12):
            body = textwrap.indent(statement, "    ")
            statement = f"try:\n{body}except Exception as e:\n    print(type(e).__name__, e)\n"
        text += statement
    return text + _LAST
