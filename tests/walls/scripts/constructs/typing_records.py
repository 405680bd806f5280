from collections import namedtuple
from typing import NamedTuple, NotRequired, TypedDict


class Point(NamedTuple):
    x: int
    y: int = 0
    label: str = "p"

    @property
    def norm(self):
        return (self.x**2 + self.y**2) ** 0.5

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    @classmethod
    def origin(cls):
        return cls(0, 0)


class Movie(TypedDict, total=False):
    title: str
    year: NotRequired[int]


Row = namedtuple("Row", ["id", "score"], defaults=[0.0])
p = Point(3, 4)
x, y, *rest = p
print(p, p.norm, p + Point(1), Point.origin(), x, y, rest, p._replace(y=1), p._asdict(), Point._fields, Point._field_defaults)
print(p[0], p[-1], p == (3, 4, "p"), hash(p) == hash((3, 4, "p")), len(p), isinstance(p, tuple), sorted([Point(2), Point(1)]))
m: Movie = {"title": "t"}
m["year"] = 1999
print(m, Movie(title="z"), Movie.__name__)
r = Row._make(["a", 0.5])
print(r, Row("b"), r._asdict(), max([Row("a", 1), Row("b", 3)], key=lambda row: row.score), Row(id="k", score=2))
Old = namedtuple("Old", "a, b c")
print(Old(1, 2, 3), Old(*"xyz").b, namedtuple("R", ["a", "def", "a"], rename=True)._fields)
for attempt in (lambda: setattr(p, "x", 1), lambda: Point(), lambda: p.zz, lambda: Row(1, 2, 3), lambda: namedtuple("X", "a a"), lambda: p._replace(q=1)):
    try:
        attempt()
    except Exception as error:
        print(type(error).__name__, error)
match p:
    case Point(x=3, y=yy):
        print("matched", yy)
