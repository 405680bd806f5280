from dataclasses import dataclass
from enum import Enum


class Op(Enum):
    ADD = "+"
    SUB = "-"


@dataclass
class Num:
    value: float


@dataclass
class Bin:
    op: Op
    left: object
    right: object


def ev(node):
    match node:
        case Num(value):
            return value
        case Bin(Op.ADD, left, right):
            return ev(left) + ev(right)
        case Bin(op=Op.SUB, left=l, right=r):
            return ev(l) - ev(r)


def kind(v):
    match v:
        case True | False:
            return "bool"
        case None:
            return "none"
        case -1 | 0 | 1:
            return "small"
        case int() | float() as n if n > 1e6:
            return f"huge {n}"
        case int(n):
            return f"int {n}"
        case 2.5:
            return "two and a half"
        case "yes" | "no" as word:
            return f"word {word}"
        case str(s) if s.startswith("http"):
            return "url"
        case str():
            return "text"
        case b"x":
            return "bytes"
        case []:
            return "empty"
        case [x]:
            return f"one {x}"
        case [x, y, *_] if x == y:
            return "pair"
        case [first, *middle, last]:
            return f"{first} {middle} {last}"
        case {"type": "user", "name": str(name), **rest}:
            return f"user {name} {rest}"
        case {"items": [{"id": i}, *_]}:
            return f"first id {i}"
        case {}:
            return "dict"
        case set() | frozenset():
            return "set"
        case complex(real=re, imag=im):
            return f"{re} {im}"
        case _:
            return type(v).__name__


print(ev(Bin(Op.SUB, Bin(Op.ADD, Num(1), Num(2)), Num(5))))
for value in (True, None, 0, 7, 2**30, 2.5, "yes", "http://x", "zz", b"x", [], [1], (1, 1, 5), [1, 2, 3, 4], {"type": "user", "name": "bo", "age": 3}, {"items": [{"id": 9}, 1]}, {"a": 1}, {1}, 1j, range(3)):
    print(kind(value))
match command := "go north fast".split():
    case ["go", ("north" | "south") as direction, *rest]:
        print(direction, rest, command)
match (1, (2, [3, {"k": (4, 5)}])):
    case (a, (b, [c, {"k": (d, e)}])):
        print(a, b, c, d, e)
