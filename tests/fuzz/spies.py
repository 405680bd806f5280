"""Programs that hand spies to everything a module offers: one for each module that scripts may import.

A spy is an object or a class whose every method was written by the script and keeps what it is given. The programs
call each function and each method with spies, compare, unite, hash, subscript and subclass each object, and use
each as a descriptor. What a spy gets, and what a call returns, passes through an expression of the program, where
the oracle sees it (oracle.py). So a function of the library that hands a script what no script may hold is found
without knowing which.
"""

from __future__ import annotations

from winnow.sandbox.child.language import names
from winnow.sandbox.child.language.allow_list import ALLOWED

from .harness import Harness

_BINARY = sorted(names.WITH_OPERANDS - {"__contains__", "__missing__", "__get__", "__set__", "__delete__"})
_METHODS = sorted(
    names.DEFINABLE
    - set(_BINARY)
    - {
        "__init__",
        "__new__",
        "__hash__",
        "__del__",
        "__getattr__",
        "__setattr__",
        "__delattr__",
        "__init_subclass__",
    }
    - {"__set_name__", "__class_getitem__", "__post_init__", "__dir__", "__await__", "__aiter__", "__anext__"}
    - {"__aenter__", "__aexit__", "__copy__", "__deepcopy__"}
)
_ANSWERS = {
    "__len__": "1", "__bool__": "True", "__str__": "'a'", "__repr__": "'a'", "__bytes__": "b'a'", "__int__": "0",
    "__index__": "0", "__float__": "0.0", "__complex__": "0j", "__format__": "'a'", "__iter__": "iter([self])",
    "__reversed__": "iter([self])", "__length_hint__": "1", "__contains__": "True", "__exit__": "True",
    "__fspath__": "'a'", "__sizeof__": "0", "__round__": "0", "__trunc__": "0", "__floor__": "0", "__ceil__": "0",
}  # fmt: skip


def _methods() -> str:
    lines = []
    for name in _METHODS:
        lines.append(f"    def {name}(self, *given): keep(*given); return {_ANSWERS.get(name, 'self')}")
    for name in _BINARY:
        answer = "answer()" if name in ("__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__ne__") else "self"
        lines.append(f"    def {name}(self, other=None, *more): keep(other, *more); return {answer}")
    return "\n".join(lines)


_PROGRAM = """
import warnings
import {module}

class Enough(BaseException): pass

left, turn, code = [10**6], [0], [0]

def keep(*values):
    left[0] -= 1
    if left[0] < 0: raise Enough
    for value in values:
        value
    return None

def answer():
    turn[0] += 1
    return turn[0] % 2 == 0

class Methods:
    def __init__(self, *given, **named): keep(*given, *named.values())
    def __hash__(self): return code[0]
    def __getattr__(self, name):
        keep(name)
        if name.startswith('_'): raise AttributeError(name)
        return Spy()
    def __set_name__(self, owner, name): keep(owner, name)
    def __class_getitem__(cls, item): keep(item); return cls
    def __init_subclass__(cls, **named): keep(cls, *named.values())
    def __copy__(self): return self
    def __deepcopy__(self, memo): keep(memo); return self
    def as_integer_ratio(self=None): return (Number(), 1)
{methods}

class Spy(Methods): pass

class Text(str, Methods):
    __hash__ = Methods.__hash__
class Number(int, Methods):
    __hash__ = Methods.__hash__
class Items(list, Methods): pass
class Pairs(dict, Methods): pass
class Several(tuple, Methods):
    __hash__ = Methods.__hash__
class Failure(Exception, Methods): pass

def function(*given, **named):
    keep(*given, *named.values())
    return given[0] if given else Spy()

def spies():
    return [Spy(), Text('a'), Number(1), Items([Spy()]), Pairs(a=Spy()), Several((Spy(),)), Failure('a'), Spy,
            Failure, function, [Spy], [Spy(), 1], {{'a': Spy()}}, (Spy(), 'a'), iter([Spy(), Spy]),
            {{Spy(): Spy()}}]

def attempt(action):
    left[0] = {most}
    try:
        found = action()
        found
        if type(found).__name__ in ('generator', 'map', 'filter', 'zip', 'iterator') or hasattr(found, '__next__'):
            for _ in range(3): next(found)
        return found
    except BaseException as error:
        error
        return None
    finally:
        left[0] = 10**6

ACTIONS = [
    lambda o, s: o(s), lambda o, s: o(s, s), lambda o, s: o([s]), lambda o, s: o([s, s]), lambda o, s: o(s, 1),
    lambda o, s: o('a', s), lambda o, s: o(1, s), lambda o, s: o(s, [s]), lambda o, s: o(function, s),
    lambda o, s: o(s)(function), lambda o, s: o(s)(s), lambda o, s: o(function)(s), lambda o, s: o(s, s, s),
    lambda o, s: o(function) == o(s), lambda o, s: o(s) == o(int), lambda o, s: o(key=s),
    lambda o, s: o(s, key=function),
    lambda o, s: o[s], lambda o, s: o[s, s], lambda o, s: o[int] == o[s], lambda o, s: o[s] == o[int],
    lambda o, s: o == s, lambda o, s: s == o, lambda o, s: o != s, lambda o, s: o < s, lambda o, s: o >= s,
    lambda o, s: o | s, lambda o, s: s | o, lambda o, s: o + s, lambda o, s: s + o, lambda o, s: o & s,
    lambda o, s: o - s, lambda o, s: o * s, lambda o, s: o % s, lambda o, s: o / s, lambda o, s: o // s,
    lambda o, s: o ** s, lambda o, s: o ^ s, lambda o, s: o << s, lambda o, s: divmod(o, s), lambda o, s: o @ s,
    lambda o, s: s in o, lambda o, s: o in s, lambda o, s: isinstance(s, o), lambda o, s: issubclass(s, o),
    lambda o, s: collide(o, s), lambda o, s: subclass(o, s), lambda o, s: descriptor(o, s),
    lambda o, s: entered(o, s), lambda o, s: recorded(o, s),
    lambda o, s: bool(o) and len(o), lambda o, s: str(o) + repr(o), lambda o, s: list(zip(range(3), o)),
    lambda o, s: sorted([o, s]), lambda o, s: f'{{o:{{s}}}}', lambda o, s: augmented(o, s),
]

def collide(o, s):
    code[0] = hash(o)
    try: return {{o: 1}}.get(s), {{s: 1}}.get(o), {{o}} == {{s}}
    finally: code[0] = 0

def subclass(o, s):
    class Below(o):
        _value_ = s
        def as_integer_ratio(): return (s, 1)
    return Below, attempt(lambda: Below()), attempt(lambda: Below(s)), attempt(lambda: Below() == s)

def descriptor(o, s):
    class Holder:
        held = o
        @o
        def decorated(self, *given): keep(*given); return self
    class Made:
        made = classmethod(o)
    for action in (lambda: Holder.held, lambda: Holder().held, lambda: Holder().held(s), lambda: Holder.decorated,
                   lambda: Holder().decorated(s), lambda: Made.made(s), lambda: Made.made == s):
        attempt(action)

def entered(o, s):
    with o as found: return found

def augmented(o, s):
    o |= s
    return o

def recorded(o, s):
    with warnings.catch_warnings(record=True) as seen:
        o('a', lambda *given: s)
    return [(each.category, each.message) for each in seen]

def part(value, name):
    try: return getattr(value, name)
    except BaseException: return None

WITHOUT = {without}
seen = []
def probe(value, depth):
    for each in spies():
        for action in ACTIONS:
            attempt(lambda: action(value, each))
    for name in dir(value):
        if name in WITHOUT: continue
        inner = part(value, name)
        inner
        if depth and inner is not None: probe(inner, depth - 1)
    if isinstance(value, type) and depth:
        for given in ((), (1,), ('a',), ([1],), (function,), ({{'a': 1}},), (1, 2), ('a', 'b'), (1, 1, 1),
                      (Spy(),)):
            made = attempt(lambda: value(*given))
            if made is not None and type(made) not in seen:
                seen.append(type(made))
                probe(made, depth - 1)

for name in MEMBERS:
    member = part({module}, name)
    if type(member) not in (str, int, float, bool, list, tuple): probe(member, 1)
"""

# Waiting, ending, and what has no end: no hand-over, and the program would stop there.
_WITHOUT = {"sleep", "Event", "Condition", "wait", "run", "setrecursionlimit", "exit", "count", "cycle", "repeat"}
_MOST = 60  # methods of spies that one attempt may call


def program(module: str, members: list[str]) -> str:
    """The program for some members of a module."""
    text = _PROGRAM.format(module=module, methods=_methods(), most=_MOST, without=_WITHOUT)
    return text.replace("MEMBERS", repr([name for name in members if name not in _WITHOUT]))


# What handed something over before it was closed.
FOUND_BEFORE = (
    "statistics: mean", "statistics: linear_regression", "typing: Type", "typing: Annotated",
    "functools: lru_cache",
    "functools: singledispatch", "enum: Enum", "enum: Flag", "keyword: kwlist", "types: MappingProxyType",
    "collections: OrderedDict", "dataclasses: field", "pprint: pp", "textwrap: TextWrapper", "warnings: warn",
)  # fmt: skip

# Decoding text asks for a codec by the name that it is given, which scripts can do by bytes.decode as well.
_CODECS = "event import ('encodings."


def findings(harness: Harness, name: str) -> set[str]:
    """What the program of this name holds that no script may hold."""
    return {found for found in harness.probe(programs()[name])["findings"] if not found.startswith(_CODECS)}


def programs(at_once: int = 1) -> dict[str, str]:
    """All programs by their name, with this many members each."""
    made = {}
    for module in sorted(ALLOWED):
        if module in ("client_sdk", "__future__"):  # the same as winnow; no module
            continue
        members = sorted(ALLOWED[module])
        for start in range(0, len(members), at_once):
            some = members[start : start + at_once]
            made[f"{module}: {some[0]}"] = program(module, some)
    return made
