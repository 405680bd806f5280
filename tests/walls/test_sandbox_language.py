"""Everyday Python runs in the sandbox, and prints what CPython prints."""

# ruff: noqa: E501 - scripts are quoted the way they are written

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import textwrap
from typing import Any

import pytest

pytestmark = pytest.mark.walls

SCRIPTS = {
    "inheritance": """
        class Animal:
            kind = "animal"
            def __init__(self, name): self.name = name
            def __repr__(self): return f"{type(self).__name__}({self.name!r})"
            def speak(self): return "..."
        class Dog(Animal):
            def __init__(self, name, age):
                super().__init__(name)
                self._age = age
                self.__secret = 1
            @property
            def age(self): return self._age
            @age.setter
            def age(self, value): self._age = value
            def speak(self): return super().speak() + "woof" + str(self.__secret)
            @classmethod
            def make(cls): return cls("made", 1)
            @staticmethod
            def legs(): return 4
        d = Dog("rex", 3)
        d.age += 1
        d._age += 1
        print(d, d.age, d.speak(), Dog.make(), Dog.legs(), isinstance(d, Animal), Dog.__name__, d.__class__.__name__)
    """,
    "dunder_methods": """
        class V:
            def __init__(self, x): self.x = x
            def __add__(self, o): return V(self.x + o.x)
            def __eq__(self, o): return self.x == o.x
            def __lt__(self, o): return self.x < o.x
            def __hash__(self): return hash(self.x)
            def __getitem__(self, i): return self.x * i
            def __len__(self): return self.x
            def __iter__(self): return iter(range(self.x))
            def __contains__(self, i): return i == self.x
            def __call__(self, y): return self.x + y
            def __bool__(self): return self.x > 0
            def __getattr__(self, name): return "missing " + name
            def __format__(self, spec): return f"<{self.x}:{spec}>"
        v = V(3)
        print((v + V(2)).x, v == V(3), sorted([V(2), V(1)])[0].x, v[2], len(v), list(v), 3 in v, v(1), bool(V(0)), v.foo, f"{v:abc}")
    """,
    "dataclasses": """
        from dataclasses import dataclass, field, asdict, astuple, replace, fields
        @dataclass(order=True, frozen=True)
        class P:
            x: int
            y: int = 2
            tags: list = field(default_factory=list, compare=False)
            def total(self) -> int: return self.x + self.y
        @dataclass
        class Q(P.__mro__[-1] if False else object):
            name: str
            _hidden: int = 0
            def __post_init__(self): self.name = self.name.upper()
        p = P(1)
        print(p, asdict(p), astuple(p), replace(p, y=9), P(1) < P(2), p.total(), [f.name for f in fields(P)], Q("a"))
        try:
            p.x = 5
        except AttributeError as e:
            print(type(e).__name__, e)
    """,
    "enums": """
        from enum import Enum, IntEnum, Flag, auto, StrEnum
        class Color(Enum):
            RED = 1
            GREEN = auto()
            @property
            def pretty(self): return self.name.title()
        class Level(IntEnum):
            LOW = 1
            HIGH = 2
        class Perm(Flag):
            R = auto()
            W = auto()
        class S(StrEnum):
            A = auto()
        print(Color.RED, Color(2), Color["RED"].pretty, list(Color), Level.HIGH > Level.LOW, Perm.R | Perm.W, S.A, Color.__members__.keys())
        try:
            Color(9)
        except ValueError as e:
            print(e)
    """,
    "named_tuples": """
        from collections import namedtuple
        from typing import NamedTuple, TypedDict
        P = namedtuple("P", "x y", defaults=[5])
        class N(NamedTuple):
            a: int
            b: str = "z"
            def both(self): return f"{self.a}{self.b}"
        class T(TypedDict):
            k: int
        p = P(1)
        print(p, p._asdict(), p._replace(y=2), P._fields, N(1).both(), N(2), T(k=1))
    """,
    "generics_and_protocols": """
        from typing import Generic, TypeVar, Protocol, runtime_checkable, Optional, Callable
        T = TypeVar("T")
        class Stack(Generic[T]):
            def __init__(self) -> None: self._items: list[T] = []
            def push(self, item: T) -> None: self._items.append(item)
            def pop(self) -> Optional[T]: return self._items.pop() if self._items else None
        @runtime_checkable
        class Named(Protocol):
            name: str
        class A: name = "a"
        s = Stack[int]()
        s.push(3)
        print(s.pop(), s.pop(), isinstance(A(), Named), isinstance(1, Named))
    """,
    "generators": """
        def walk(tree):
            for node in tree:
                if isinstance(node, list): yield from walk(node)
                else: yield node
        def echo():
            got = yield "ready"
            while True:
                try: got = yield got
                except ValueError as e: got = f"caught {e}"
        e = echo()
        print(list(walk([1, [2, [3]], 4])), next(e), e.send(5), e.throw(ValueError("x")))
        print(sum(x * x for x in range(10)), {k: v for k, v in zip("ab", [1, 2])}, {x % 3 for x in range(9)})
    """,
    "async": """
        import asyncio
        async def work(n):
            await asyncio.sleep(0.001 * n)
            return n * 2
        async def numbers():
            for i in range(3):
                yield i
                await asyncio.sleep(0)
        class Ctx:
            async def __aenter__(self): print("in"); return self
            async def __aexit__(self, *a): print("out")
        async def main():
            gate = asyncio.Semaphore(2)
            async def limited(n):
                async with gate:
                    return await work(n)
            print(await asyncio.gather(*(limited(n) for n in (3, 1, 2))))
            task = asyncio.create_task(work(1))
            print(await task, [i async for i in numbers()])
            async with Ctx(): pass
            print(await asyncio.gather(work(1), bad(), return_exceptions=True))
            try: await asyncio.wait_for(asyncio.sleep(5), 0.01)
            except asyncio.TimeoutError: print("timeout")
            queue = asyncio.Queue()
            async def producer():
                for i in range(3): await queue.put(i)
                await queue.put(None)
            async def consumer():
                got = []
                while (item := await queue.get()) is not None: got.append(item)
                return got
            print((await asyncio.gather(producer(), consumer()))[1])
            async with asyncio.TaskGroup() as group:
                t = group.create_task(work(4))
            print(t.result())
            for done in asyncio.as_completed([work(3), work(1)]): print(await done)
        async def bad(): raise ValueError("bad")
        asyncio.run(main())
    """,
    "async_order": """
        import asyncio
        log = []
        async def w(name, n):
            for i in range(n):
                log.append(f"{name}{i}")
                await asyncio.sleep(0)
        async def main():
            t = asyncio.create_task(w("a", 3))
            await w("b", 2)
            await asyncio.gather(w("c", 2), w("d", 1), t)
            t2 = asyncio.create_task(asyncio.sleep(9))
            await asyncio.sleep(0)
            t2.cancel()
            try: await t2
            except asyncio.CancelledError: log.append("cancelled")
        asyncio.run(main())
        print(log)
    """,
    "match": """
        from dataclasses import dataclass
        @dataclass
        class P:
            x: int
            y: int
        def f(v):
            match v:
                case 0: return "zero"
                case int(n) if n > 100: return f"big {n}"
                case [1, *rest]: return f"list {rest}"
                case {"k": val, **rest}: return f"dict {val} {rest}"
                case P(x=0, y=y): return f"P0 {y}"
                case P(a, b): return f"P {a} {b}"
                case "a" | "b" as letter: return f"letter {letter}"
                case (a, b): return f"pair {a} {b}"
                case None: return "none"
                case str(): return "str"
                case _: return "other"
        print([f(v) for v in (0, 200, [1, 2, 3], {"k": 1, "z": 2}, P(0, 5), P(1, 2), "b", (1, 2), None, "zz", 3.5)])
    """,
    "scopes": """
        counter = 0
        def bump():
            global counter
            counter += 1
            inner = 10
            def nested():
                nonlocal inner
                inner += 1
                return inner
            return nested()
        print(bump(), bump(), counter, (lambda x, *a, k=2, **kw: (x, a, k, kw))(1, 2, k=3, z=4))
        if (n := 5) > 3: print(n)
        print([y := 1, y ** 2], [last := i for i in range(3)], last)
        del counter
        try: counter
        except NameError as e: print(e)
        for __private in range(2): pass
        print(__private, __name__ == "__main__")
        def positional(a, /, b, *, c): return a, b, c
        print(positional(1, 2, c=3))
    """,
    "assignments": """
        d = {"a": 1}; l = [1, 2, 3, 4]
        d["a"] += 1; l[1:3] = [9]; l[0] *= 5; l += [7]; del l[-1]
        a, (b, *c), d2 = 1, (2, 3, 4), {**d, "z": 1}
        x = y = 3
        x: int = 4
        z: "list[undefined]" = []
        class Box: pass
        box = Box()
        box.v = 1
        box.v += 1
        box.items = {}
        box.items["k"] = [1]
        box.items["k"][0] -= 5
        setattr(box, "w", 3)
        print(d, l, a, b, c, d2, x, y, box.v, box.items, getattr(box, "w"), hasattr(box, "q"), getattr(box, "q", 0), vars(box))
        delattr(box, "w"); print(hasattr(box, "w"))
        def f(*args, **kw): return args, kw
        print(f(*[1, 2], **{"k": 3}), [*range(3), *"ab"], {*[1], *[2]})
    """,
    "decorators": """
        import functools
        def twice(times=2):
            def deco(fn):
                @functools.wraps(fn)
                def wrapper(*a, **k):
                    wrapper.calls += 1
                    return [fn(*a, **k) for _ in range(times)]
                wrapper.calls = 0
                return wrapper
            return deco
        @twice(times=3)
        def hi(name):
            "doc"
            return "hi " + name
        print(hi("x"), hi.__name__, hi.__doc__, hi.calls)
        @functools.lru_cache(maxsize=None)
        def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
        print(fib(50), functools.reduce(lambda a, b: a * b, [1, 2, 3]), functools.partial(pow, 2)(5))
        @functools.total_ordering
        class A:
            def __init__(self, v): self.v = v
            def __eq__(self, o): return self.v == o.v
            def __lt__(self, o): return self.v < o.v
        print(A(1) >= A(0))
        class C:
            @functools.cached_property
            def p(self): print("once"); return 5
        c = C(); print(c.p, c.p)
    """,
    "context_managers": """
        from contextlib import contextmanager, suppress, ExitStack, nullcontext
        class M:
            def __enter__(self): print("enter"); return self
            def __exit__(self, t, v, tb): print("exit", t.__name__ if t else None); return True
        with M() as m, suppress(ValueError): raise ValueError("x")
        with M(): raise KeyError("y")
        @contextmanager
        def tag(name):
            print(f"<{name}>")
            try: yield name.upper()
            finally: print(f"</{name}>")
        with tag("a") as (x), ExitStack() as stack:
            stack.enter_context(tag("b")); print(x)
    """,
    "exceptions": """
        class MyError(ValueError):
            def __init__(self, code, message): super().__init__(message); self.code = code
        def f():
            try:
                try: 1 / 0
                except ZeroDivisionError as e: raise MyError(5, "bad") from e
                else: print("no")
                finally: print("finally")
            except MyError as e:
                return e.code, str(e), repr(e.__cause__), e.args
        print(f())
        try: raise ExceptionGroup("g", [ValueError("a"), TypeError("b")])
        except* ValueError as g: print(g.exceptions)
        except* TypeError as g: print(g.exceptions)
        try:
            assert 1 == 2, "msg"
        except AssertionError as e: print(e)
        try: {}["k"]
        except (KeyError, IndexError) as e: print(repr(e))
        try: raise
        except RuntimeError as e: print(e)
    """,
    "strings": """
        from string import Template, ascii_lowercase
        name, n = "ü", 3.14159
        print(f"{name!r:>6} {n:.2f} {n=:.1f} {'a' 'b'} {1_000_000:,} {255:#x} {{}}")
        print("{} {0}".replace("{0}", "{}").format(1, 2), "{a.real:>5} {b[0]} {c[k]}".format(a=5, b=[6], c={"k": 7}), "{x}".format_map({"x": 1}))
        print("%s %05.1f %(k)s" % {"k": 1} if False else "%s %05.1f" % ("a", 2.25), Template("$x").substitute(x=1), ascii_lowercase[:3])
        print("a,b".split(","), "x".join("abc"), "Abc".casefold(), "  s ".strip(), b"ab".decode(), "é".encode(), "a\\tb".expandtabs())
        print(list(map("{:>3}".format, [1, 2])), str.upper("a"), "ab".translate(str.maketrans("a", "z")))
    """,
    "builtins": """
        print(abs(-1), all([1]), any([]), bin(5), bool(""), bytes([65]), callable(len), chr(65), divmod(7, 3), hex(255))
        print(list(enumerate("ab", 1)), list(filter(None, [0, 1])), float("1.5"), frozenset([1]), int("ff", 16), iter([1]).__next__())
        print(max([1, 3], key=lambda x: -x), min(2, 1), oct(8), ord("a"), pow(2, 3, 5), round(2.675, 2), sorted([3, 1], reverse=True))
        print(slice(1, 2), str(1), sum([1, 2], 10), tuple("ab"), list(zip("ab", [1, 2], strict=True)), type(1), type(1) is int, type([]).__name__)
        print(type("x") == str, isinstance(int, type), issubclass(bool, int), repr("q"), list(reversed([1, 2])), ascii("é"), complex(1, 2))
        print(type(lambda: 0).__name__, type(len).__name__, type(type(1)), type(None), NotImplemented, ..., __debug__)
        print(1, 2, sep="-", end="!\\n")
    """,
    "modules": """
        import json, re, math, datetime, itertools, collections, random, statistics, decimal, fractions, heapq, bisect
        import collections.abc, urllib.parse, textwrap, difflib, unicodedata, operator, copy, html, csv, io, hashlib, base64, uuid, calendar, struct
        from datetime import timedelta, timezone
        from urllib.parse import urlparse
        print(json.dumps({"a": [1, None, True]}, indent=1, sort_keys=True), json.loads('{"x": 1.5}'))
        print(re.sub(r"(\\d+)", lambda m: str(int(m[1]) * 2), "a1b22"), re.findall(r"\\w+", "a b"), re.compile("a", re.I).search("A").span())
        print(math.sqrt(2), math.isclose(0.1 + 0.2, 0.3), datetime.date(2026, 1, 31).isoformat(), datetime.datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(days=1))
        print(datetime.datetime.strptime("2026-02-03", "%Y-%m-%d").strftime("%d %b"), list(itertools.accumulate([1, 2, 3])), collections.Counter("abca").most_common(1))
        dd = collections.defaultdict(list); dd["a"].append(1); print(dict(dd), collections.deque([1, 2], maxlen=1), collections.OrderedDict(a=1))
        print(statistics.mean([1, 2]), decimal.Decimal("0.1") + 1, fractions.Fraction(1, 3), heapq.nsmallest(1, [3, 1]), bisect.bisect([1, 2], 2))
        print(urlparse("http://a/b?c=1").query, urllib.parse.quote("a b"), textwrap.dedent("  x"), difflib.get_close_matches("ab", ["abc"]), unicodedata.name("é"))
        print(operator.itemgetter(1)([1, 2]), copy.deepcopy({"a": [1]}), html.escape("<"), isinstance([], collections.abc.Sequence))
        out = io.StringIO(); w = csv.writer(out); w.writerow([1, "a,b"]); print(out.getvalue().strip(), list(csv.DictReader(io.StringIO("a,b\\n1,2"))))
        print(hashlib.sha256(b"x").hexdigest()[:8], base64.b64encode(b"x"), uuid.UUID(int=1), calendar.monthrange(2026, 2), struct.pack(">I", 1))
        random.seed(5); print(random.randint(1, 100), random.sample(range(10), 3)); print("\\N{GREEK SMALL LETTER ALPHA}")
    """,
    "imports_in_every_form": """
        import json as j, math
        from math import *
        from collections import Counter as C
        try:
            import numpy_missing as np
        except ImportError:
            np = None
        print(j.dumps(1), floor(2.5), C("aa"), np, math.pi)
    """,
    "printing": """
        import io, pprint, logging, warnings, traceback
        buffer = io.StringIO()
        print("a", file=buffer, end="")
        print(buffer.getvalue(), flush=True)
        pprint.pprint({"b": 1, "a": [1, 2]})
        try: 1 / 0
        except ZeroDivisionError: print(traceback.format_exc().splitlines()[-1])
    """,
    "singletons_and_registries": """
        class Base:
            registry = {}
            def __init_subclass__(cls, **kw):
                super().__init_subclass__(**kw)
                cls.registry[cls.__name__] = cls
                cls.tag = cls.__name__.lower()
        class A(Base): pass
        class Only:
            _instance = None
            def __new__(cls):
                if cls._instance is None: cls._instance = super().__new__(cls)
                return cls._instance
        class Typed:
            def __set_name__(self, owner, name): self.name = "_" + name
            def __get__(self, obj, owner): return getattr(obj, self.name, None)
            def __set__(self, obj, value): setattr(obj, self.name, value * 2)
        class Uses: x = Typed()
        u = Uses(); u.x = 4
        class Frozen:
            __slots__ = ("v",)
            def __init__(self, v): object.__setattr__(self, "v", v)
            def __setattr__(self, k, v): raise AttributeError("frozen")
        f = Frozen(1)
        try: f.v = 2
        except AttributeError as e: print(e)
        class D(dict):
            def __missing__(self, key): return key * 2
            def __getitem__(self, key): return super().__getitem__(key)
        class Text(str):
            def __new__(cls, v): return super().__new__(cls, v.upper())
        print(Base.registry, A.tag, Only() is Only(), u.x, f.v, D()["a"], Text("ab"), [c.__name__ for c in Base.__subclasses__()], A.__bases__)
    """,
    "abstract_classes": """
        from abc import ABC, ABCMeta, abstractmethod
        class Shape(ABC):
            @abstractmethod
            def area(self): ...
            @property
            @abstractmethod
            def name(self): ...
        class Square(Shape):
            def area(self): return 4
            name = "sq"
        class M(metaclass=ABCMeta): pass
        try: Shape()
        except TypeError as e: print(str(e)[:40])
        print(Square().area(), Square().name)
    """,
    "loops": """
        for i in range(5):
            if i == 1: continue
            if i == 3: break
            print(i)
        else: print("no")
        n = 3
        while n: n -= 1
        else: print("done")
        for (a, b), c in [((1, 2), 3)]: print(a, b, c)
        print([[x * y for x in range(2)] for y in range(2)], [f() for f in [lambda i=i: i for i in range(3)]])
    """,
}  # fmt: skip

# On Python 3.12 and later.
if sys.version_info >= (3, 12):
    SCRIPTS["type_parameters"] = """
        def first[T](items: list[T]) -> T: return items[0]
        class Box[T]:
            def __init__(self, v: T): self.v = v
        type Pair[A] = tuple[A, A]
        print(first([1]), Box(2).v, Pair)
    """


def _on_cpython(source: str) -> str:
    done = subprocess.run([sys.executable, "-I", "-c", source], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_construct_prints_what_cpython_prints(bench: Any, name: str) -> None:
    source = textwrap.dedent(SCRIPTS[name])
    outcome = bench.run(source)
    assert (outcome.status, outcome.stdout) == ("ok", _on_cpython(source)), outcome.error


ERRORS = [
    ("x = 1\nif x:\n    y = x +* 2", "SyntaxError", 3, None),
    ("import os", "CodeRejected", 1, "there are: "),
    ("rows = []\nimport panda", "CodeRejected", 2, "there are: "),
    ("import jsonn", "CodeRejected", 1, "did you mean 'json'?"),
    ("from math import squirt", "CodeRejected", 1, "did you mean 'sqrt'?"),
    ("import json\njson.dumpz(1)", "AttributeError", 2, "did you mean 'dump'?"),
    ("value = 1\nprint(vlaue)", "NameError", 2, "did you mean 'value'?"),
    ("print(Counter('a'))", "NameError", 1, "from collections import Counter first"),
    ("open('x')", "CodeRejected", 1, "fetch("),
    ("é = 1; é.foo", "AttributeError", 1, None),
    ("kb.serach('x')", "AttributeError", 1, None),
    ("kb.search('q', top=3)", "TypeError", 1, "It takes: query, top_k, max_per_doc, filters, scope, cursor"),
    ("kb.retrieve('q')", "AttributeError", 1, None),
    ("kb.retrieve_evidence('q', max_quote=3)", "TypeError", 1, "did you mean 'max_quotes'?"),
    ("kb_retrieve_evidence('q')", "NameError", 1, "write kb.retrieve_evidence(...)"),
    ("semantic_search('q', topk=3)", "TypeError", 1, "did you mean 'top_k'?"),
    ("None.x", "AttributeError", 1, "is not None"),
    ("def f(a):\n    return a['k']\nf({})", "KeyError", 2, ".get('k')"),
    ("().__class__.__base__", "CodeRejected", 1, "issubclass(a, b)"),
    ("class A:\n    def __getattribute__(self, n): pass", "CodeRejected", 2, None),
    ("async def f(): pass\nf().x", "AttributeError", 2, None),
    ("```python\nx = 1\n```", "SyntaxError", 1, "without Markdown fences"),
    ("x = {1: 2}\nx.foo", "AttributeError", 2, "a dict has items"),
    ("row = {'name': 1}\nrow['nmae']", "KeyError", 2, "did you mean 'name'?"),
    (
        "def f(rows):\n    return [r['socre'] for r in rows]\nf([{'score': 1}])",
        "KeyError",
        2,
        "did you mean 'score'?",
    ),
    (
        "def f(rows):\n    for r in rows:\n        r['socre']\nf([{'score': 1}])",
        "KeyError",
        3,
        "did you mean 'score'?",
    ),
    ("class P:\n    value = 1\nP().vlaue", "AttributeError", 3, "did you mean 'value'?"),
    ("def f(alpha): pass\nf(alhpa=1)", "TypeError", 2, "did you mean 'alpha'? It takes: alpha"),
    ("def f(n): return f(n + 1)\nf(0)", "RecursionError", 1, "a list as its stack"),
    ("MCPClient().serach('x')", "AttributeError", 1, "did you mean 'search'?"),
]


@pytest.mark.parametrize(("code", "type", "line", "hint"), ERRORS)
def test_an_error_says_where_and_what_to_write_instead(
    bench: Any, code: str, type: str, line: int, hint: str | None
) -> None:
    error = bench.run(code).error
    assert (error.type, error.line, error.source_line) == (type, line, code.splitlines()[line - 1])
    assert hint is None or hint in (error.hint or "")


_CLOSED = "scripts do not reach into the interpreter"

# What is refused -> the place, and what the hint says to do instead.
REFUSED = {
    "import os": (1, 1, "read documents with kb.search"),
    "x = 1; import pandas as pd": (1, 8, "csv, statistics, collections.Counter"),
    "import requests": (1, 1, "ask the knowledge base"),
    "import threading": (1, 1, "asyncio.gather"),
    "import subprocess": (1, 1, "do the work in this script"),
    "import pickle": (1, 1, "scripts have no files"),
    "from string import Formatter": (1, 1, "use f-strings"),
    "from string import letters": (1, 1, "did you mean 'ascii_letters'?"),
    "from operator import attrgetter": (1, 1, "key=lambda x: x.name"),
    "from functools import wrap": (1, 1, "did you mean 'wraps'?"),
    "from typing import get_type_hints": (1, 1, "dataclasses.fields"),
    "from math import integrate": (1, 1, "it offers: acos"),
    "from . import x": (1, 1, "import a module by its name"),
    "x = open('f.txt')": (1, 5, "fetch("),
    "y = eval('1')": (1, 5, "json.loads reads JSON"),
    "globals()['x'] = 1": (1, 1, "a dict of your own"),
    "name = input('name?')": (1, 8, "put the value into the script"),
    "__import__('os')": (1, 1, "use an import statement"),
    "print(__file__)": (1, 7, "scripts have no files"),
    "print(().__class__.__bases__)": (1, 7, "isinstance"),
    "def f(): pass\nf.__code__": (2, 1, _CLOSED),
    "def f(): pass\nf.__globals__['x']": (2, 1, _CLOSED),
    "g = (x for x in [])\ng.gi_frame": (2, 1, _CLOSED),
    "try: 1 / 0\nexcept Exception as e:\n    e.__traceback__": (3, 5, "traceback.format_exc()"),
    "getattr('', '__class__').mro()": (1, 1, "isinstance"),
    "'{0.__class__.__mro__}'.format(1)": (1, 1, "isinstance"),
    "list[int].__origin__": (1, 1, "typing.get_origin"),
    "class A:\n    def __getattribute__(self, n): pass": (2, 5, "define __getattr__"),
    "class M(type): pass": (1, 1, "__init_subclass__"),
    "type('A', (), {})": (1, 1, "write a class statement"),
    "from enum import Enum\nEnum('Color', 'RED')": (2, 1, "write class Color(Enum)"),
    "int.x = 1": (1, 1, "objects of your own classes"),
    "import json\njson.dumps = None": (2, 1, "objects of your own classes"),
    "super = 1": (1, 1, "choose another name"),
    "vars()": (1, 1, "use a dict"),
}  # fmt: skip


@pytest.mark.parametrize("code", REFUSED)
def test_a_refusal_says_where_and_what_to_write_instead(bench: Any, code: str) -> None:
    line, column, hint = REFUSED[code]
    outcome = bench.run(code)
    error = outcome.error
    assert (outcome.status, error.type, error.line, error.column) == ("rejected", "CodeRejected", line, column)
    assert (error.source_line, hint in (error.hint or "")) == (code.splitlines()[line - 1], True), error.hint


def test_a_script_that_is_indented_as_a_whole_is_told_so(bench: Any) -> None:
    error = bench.run("    x = 1\n    x + 1").error
    assert (error.type, error.line, error.hint) == ("SyntaxError", 1, "start the script at the left margin")


def test_a_column_counts_characters_of_the_authors_own_line(bench: Any) -> None:
    assert bench.run("ü = 'ä'; ü.foo").error.column == 10
    assert bench.run("x = 1; import os").error.column == 8


def test_a_misspelt_field_names_the_right_one(bench: Any) -> None:
    error = bench.run("row = kb.search('q')[0]\nrow.tittle").error
    assert "did you mean 'title'?" in error.message


SDK_CALLS = {
    "kb.search('q')": ["kb.search", {"query": "q", "top_k": 5, "page_size": 5}],
    "await kb.search('q', top_k=2, filters={'doc_tag': 'x'})":
        ["kb.search", {"query": "q", "top_k": 2, "page_size": 2, "filters": {"doc_tag": "x"}}],
    "semantic_search('q', response_mode='full', filter_ids={'a'})":
        ["semantic_search", {"query": "q", "top_k": 10, "response_mode": "full", "min_score": 0.0,
                             "include_relationships": False, "filter_ids": ["a"]}],
    "fetch('a')": ["fetch", {"ids": ["a"], "level": "full"}],
    "fetch(['a', 'b'], level='preview')": ["fetch", {"ids": ["a", "b"], "level": "preview"}],
    "fetch(kb.search('q'))": ["fetch", {"ids": ["guide#1"], "level": "full"}],
    "await MCPClient('http://x').semantic_search('q')":
        ["semantic_search", {"query": "q", "top_k": 10, "response_mode": "metadata", "min_score": 0.0,
                             "include_relationships": False}],
    "await MCPClient().call_tool('kb.search', {'query': 'q'})":
        ["kb.search", {"query": "q", "page_size": 5}],
    "kb.retrieve_evidence('q', top_k=2)":
        ["kb.retrieve_evidence", {"question": "q", "top_k": 2, "max_quotes": 6, "max_quote_tokens": 80,
         "include_context_tokens": 20}],
    "await MCPClient().call_tool('kb_retrieve_evidence', {'question': 'q'})":
        ["kb.retrieve_evidence", {"question": "q"}],
    "kb.extract_evidence('q', kb.search('q'), max_quotes=1)":
        ["kb.extract_evidence", {"question": "q", "passage_ids": ["guide#1"], "max_quotes": 1,
         "max_quote_tokens": 80, "include_context_tokens": 20}],
    "await kb.read_excerpt(kb.search('q')[0], 20, format='bullets')":
        ["kb.read_excerpt", {"passage_id": "guide#1", "max_tokens": 20, "start_char": 0,
         "options": {"format": "bullets"}}],
    "kb.expand_excerpt('x')":
        ["kb.expand_excerpt", {"passage_id": "x", "before_tokens": 150, "after_tokens": 150}],
}  # fmt: skip


@pytest.mark.parametrize("call", SDK_CALLS)
def test_an_sdk_call_asks_the_host(bench: Any, call: str) -> None:
    assert bench.run(f"page = {call}\nreturn page['asked']").result == SDK_CALLS[call]


@pytest.mark.parametrize(
    "header",
    [
        "",
        "from winnow import kb, semantic_search, fetch, MCPClient\n",
        "import winnow\nkb = winnow.kb\n",
        "from client_sdk import kb\n",
    ],
)
def test_the_sdk_is_there_with_and_without_an_import(bench: Any, header: str) -> None:
    code = (
        f"{header}import asyncio\na, b = await asyncio.gather(kb.search('a'), kb.search('b'))\n"
        "page = kb.search('c')\nrow = page[0]\n"
        "return [a.ids, page['ids'], page.count, page.next_cursor, row.title, row['title'], row.metadata.tag,"
        " len(page['results']), row.get('nothing', 1)]"
    )
    expected = [["guide#1"], ["guide#1"], 1, None, "Retries", "Retries", "x", 1, 1]
    assert bench.run(code).result == expected


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(1, 2)", [1, 2]),
        ("{3, 1, 2}", [1, 2, 3]),
        ("{1: 'a', None: 'b', True: 'c'}", {"1": "c", "null": "b"}),
        ("__import__", None),
        ("datetime.date(2026, 1, 2)", "2026-01-02"),
        ("decimal.Decimal('1.50')", "1.50"),
        ("collections.Counter('aab')", {"a": 2, "b": 1}),
        ("collections.deque([1])", [1]),
        ("{'a': 1}.keys()", ["a"]),
        ("range(3)", [0, 1, 2]),
        ("2 ** 64", 2**64),
    ],
)
def test_a_result_is_plain_data(bench: Any, expression: str, value: Any) -> None:
    outcome = bench.run(f"import datetime, decimal, collections\nreturn {expression}")
    assert outcome.result == value


def test_a_dataclass_and_an_enumeration_are_data(bench: Any) -> None:
    code = """
from dataclasses import dataclass
from enum import Enum
class C(Enum):
    A = "a"
@dataclass
class P:
    x: int
    c: C = C.A
return {"p": P(1), "k": {C.A: 2}}
"""
    assert bench.run(code).result == {"p": {"x": 1, "c": "a"}, "k": {"a": 2}}


def test_help_and_dir_show_the_sdk(bench: Any) -> None:
    outcome = bench.run("help(kb.search)\nprint(dir(kb))")
    assert "Candidates for a question" in outcome.stdout
    offered = [
        "code_blocks",
        "count",
        "documents",
        "expand_excerpt",
        "extract_evidence",
        "fetch",
        "fields",
        "grep",
    ]
    offered += ["links", "page", "read", "read_excerpt", "repeats", "retrieve_evidence", "row", "scan", "search"]
    offered += ["search_many", "sections", "semantic_search", "tables", "text", "texts"]
    assert str(offered) in outcome.stdout


def test_plain_python_agrees_on_what_a_last_line_is() -> None:
    """The control for the comparison above: it compares output that CPython really made."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec("print(1)")
    assert (json.loads(out.getvalue()), _on_cpython("print(1)")) == (1, "1\n")
