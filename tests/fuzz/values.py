"""Values for the encoder of results: ordinary ones with the plain form they have, and objects that lie."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import itertools
import math
import types
import uuid
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterator
from typing import Any

from winnow.sandbox.child.language.names import words

from .choices import Choices

Pair = tuple[Any, Any]  # a value, and what it is as data
_DEPTH = 4


class Colour(enum.Enum):
    """With values of several kinds."""

    RED = 1
    WARM = (1, "two")


class Level(enum.IntEnum):
    """An integer that is a member."""

    HIGH = 3


class Word(str):
    """A text of another class."""

    __slots__ = ()


@dataclasses.dataclass
class Record:
    """Two fields."""

    first: Any
    second: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    """One field, in a slot."""

    only: Any


Point = namedtuple("Point", "x y")

_TEXTS = ["", "a", "ü", "\U0001f600", "\x00", "\x1b[31m", "\u2028", '"\\', "a" * 500, "null", "1"]
_LEAVES: list[Pair] = [
    (None, None), (True, True), (False, False), (0, 0), (-1, -1), (2**1023 - 1, 2**1023 - 1), (0.5, 0.5),
    (-0.0, -0.0),
    (5e-324, 5e-324), (1e308, 1e308), *((text, text) for text in _TEXTS), (Word("w"), "w"), (Level.HIGH, 3),
    (Colour.RED, 1), (Colour.WARM, [1, "two"]), (range(3), [0, 1, 2]), ({3, 1}, [1, 3]),
    (frozenset("ba"), ["a", "b"]),
    (datetime.date(2026, 1, 31), "2026-01-31"), (datetime.time(1, 2), "01:02:00"),
    (datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC), "2026-01-31T00:00:00+00:00"),
    (datetime.timedelta(days=1), "1 day, 0:00:00"), (decimal.Decimal("1.10"), "1.10"),
    (fractions.Fraction(1, 3), "1/3"), (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
]  # fmt: skip
_KEYS: list[Pair] = [
    ("k", "k"), ("ü", "ü"), (7, "7"), (None, "null"), (True, "true"), (0.5, "0.5"), (Word("w"), "w"),
    (Level.HIGH, "3"), (datetime.date(2026, 1, 31), "2026-01-31"),
]  # fmt: skip


def ordinary(choices: Choices, depth: int = 0) -> Pair:
    """A value that is data, and its plain form."""
    if depth >= _DEPTH or choices.spent:
        return choices.one(_LEAVES)
    return choices.one(_ORDINARY)(choices, depth + 1)


def _sequence(choices: Choices, depth: int) -> Pair:
    pairs = [ordinary(choices, depth) for _ in range(choices.below(5))]
    make: Callable[[list[Any]], Any] = choices.one(
        [list, tuple, deque, lambda items: dict(enumerate(items)).values()]
    )
    return make([value for value, _ in pairs]), [plain for _, plain in pairs]


def _mapping(choices: Choices, depth: int) -> Pair:
    keys = [choices.one(_KEYS) for _ in range(choices.below(5))]
    entries = {key: (plain_key, ordinary(choices, depth)) for key, plain_key in keys}
    values = {key: value for key, (_, (value, _)) in entries.items()}
    make: Callable[[dict[Any, Any]], Any] = choices.one(
        [dict, OrderedDict, Counter, ChainMap, lambda items: defaultdict(list, items)]
    )
    plain = {plain_key: plain for plain_key, (_, plain) in entries.values()}
    return make(values), plain


def _record(choices: Choices, depth: int) -> Pair:
    (one, plain_one), (two, plain_two) = ordinary(choices, depth), ordinary(choices, depth)
    return choices.one([
        (Record(one, two), {"first": plain_one, "second": plain_two}), (Slotted(one), {"only": plain_one}),
        (Point(one, two), [plain_one, plain_two]), ({"a": one}.items(), [["a", plain_one]]),
    ])  # fmt: skip


_ORDINARY: list[Callable[[Choices, int], Pair]] = [
    lambda choices, depth: choices.one(_LEAVES),
    _sequence,
    _mapping,
    _record,
]


# --- objects that lie ------------------------------------------------------------------------------------------


class OwnError(Exception):
    """The error of a hostile object; it is reported as the script's error."""


def _raise(*arguments: Any, **keywords: Any) -> Any:
    raise OwnError


def _without_end(*arguments: Any) -> Iterator[Any]:
    return itertools.repeat(("k", "v"))


_LIES: list[Any] = [
    _raise, lambda *a: None, lambda *a: -1, lambda *a: "lie", lambda *a: float("nan"), lambda *a: 2**5000,
    lambda *a: b"bytes", _without_end, lambda *a: True, lambda *a: Word("lie"), lambda *a: {"x": {1}}.items(),
]  # fmt: skip
_ASKED = words(
    "__str__ __repr__ __int__ __index__ __float__ __bool__ __len__ __iter__ __eq__ __hash__ __lt__ __format__ "
    "__getitem__ __contains__ items keys values bit_length isascii encode isoformat numerator denominator value "
    "name __getattr__ __dataclass_fields__ as_integer_ratio sort __reduce__ _value_ __class__ __trunc__ __ceil__"
)
_BASES: list[tuple[type, tuple[Any, ...]]] = [
    (object, ()), (str, ("s",)), (int, (7,)), (float, (1.5,)), (dict, ({"k": 1},)), (list, ([1, 2],)),
    (tuple, ((1,),)), (set, ({1, 2},)), (frozenset, ((1,),)), (deque, ((1,),)), (Counter, ("aab",)),
    (OrderedDict, ({"k": 1},)),
    (ChainMap, ({"k": 1},)), (decimal.Decimal, ("1.5",)), (fractions.Fraction, (1, 2)), (uuid.UUID, ("0" * 32,)),
    (datetime.date, (2026, 1, 1)), (datetime.datetime, (2026, 1, 1)), (datetime.time, (1,)), (Word, ("w",)),
    (datetime.timedelta, (1,)), (Record, (1,)), (Point, (1, 2)), (Exception, ("e",)),
]  # fmt: skip


def _liar(choices: Choices, depth: int) -> Any:
    base, arguments = choices.one(_BASES)
    members: dict[str, Any] = {}
    for _ in range(1 + choices.below(4)):
        name, lie = choices.one(_ASKED), choices.one(_LIES)
        members[name] = property(lie) if choices.chance(4) or name in ("__class__", "value") else lie
    try:
        return type("Liar", (base,), members)(*arguments)
    except Exception:  # it lied while it was made
        return base(*arguments)


def _around(choices: Choices, depth: int) -> Any:
    inner, other = hostile(choices, depth), hostile(choices, depth)
    made: list[Any] = [
        [inner, other],
        (inner,),
        {"k": inner},
        Record(inner, other),
        deque([inner]),
        {"a": {"b": inner}},
    ]
    try:
        made += [{inner: other}, {inner}]
    except Exception:  # it cannot be a key, or says so
        made += [[[inner]]]
    return choices.one(made)


def _cycle(choices: Choices, depth: int) -> Any:
    items: list[Any] = [1]
    table: dict[str, Any] = {"k": items}
    record = Record(table)
    items.append(choices.one([items, table, record, (items,), deque([table]), {"x": [record]}]))
    return choices.one([items, table, record])


def _diamonds(choices: Choices, depth: int) -> Any:
    """Two references to two references to ...: small in memory, endless on paper."""
    value = hostile(choices, depth)
    for _ in range(choices.one([2, 3, 5, 6, 64])):
        value = choices.one([[value, value], {"a": value, "b": value}, (value, value, value)])
    return value


def _deep(choices: Choices, depth: int) -> Any:
    value = hostile(choices, depth)
    for _ in range(choices.one([60, 62, 63, 64, 65, 70, 2_000])):
        value = choices.one([[value], {"k": value}])
    return value


def _large(choices: Choices, depth: int) -> Any:
    return choices.one([
        ["x" * 100_000] * 100, list(range(300_000)), "y" * 5_000_000, {str(n): n for n in range(150_000)},
        [[]] * 250_000, {"k" * 100_000 + str(n): n for n in range(60)},
    ])  # fmt: skip


_FOREIGN: list[Any] = [
    math.nan, math.inf, -math.inf, 2**1023, 2**100_000, -(2**1024), b"b", bytearray(b"b"), 1j, object(), len,
    _raise, int, Colour, Record, math, types.SimpleNamespace(a=1), "\ud800", "a\udfffb", {"\ud800": 1},
    {"\ud800": 1, "?": 2}, {1: "a", "1": "b"}, {1j: 1}, {(1, 2): 3}, {b"k": 1}, {math.nan: 1}, {2**5000: 1},
    {None: 1, "null": 2}, {True: 1, "true": 2}, memoryview(b"b"), fractions.Fraction(10**5000, 3), ..., iter([]),
    decimal.Decimal("nan"), decimal.Decimal("1e999999"), {1, "a", None}, NotImplemented, slice(1), property(),
    types.MappingProxyType({}), type, Exception("e"), range(10**9), range(10**30), {frozenset({1})}, [[[]]], {},
    datetime.datetime.max, datetime.timedelta.max, {"": {"": {}}},
]  # fmt: skip


def _foreign(choices: Choices, depth: int) -> Any:
    return choices.one(_FOREIGN)


def _lazy(choices: Choices, depth: int) -> Any:
    return choices.one(
        [(n for n in range(3)), map(str, [1]), zip([1], [2], strict=True), itertools.count(), iter("ab")]
    )


def hostile(choices: Choices, depth: int = 0) -> Any:
    """A value that may be data or not, and may lie about it."""
    if depth >= _DEPTH or choices.spent:
        return choices.one(_FOREIGN)
    return choices.one(_HOSTILE)(choices, depth + 1)


_HOSTILE: list[Callable[[Choices, int], Any]] = [
    _foreign, _liar, _liar, _around, _around, _around, _cycle, _diamonds, _deep, _lazy,
    lambda choices, depth: ordinary(choices, depth)[0],
    lambda choices, depth: (_large if choices.chance(8) else _foreign)(choices, depth),
]  # fmt: skip
