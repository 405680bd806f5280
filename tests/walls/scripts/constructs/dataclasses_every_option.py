from dataclasses import KW_ONLY, MISSING, InitVar, asdict, astuple, dataclass, field, fields, is_dataclass, replace
from typing import ClassVar


@dataclass
class Base:
    id: int
    tags: list[str] = field(default_factory=list)
    kind: ClassVar[str] = "base"


@dataclass
class Child(Base):
    name: str = "none"
    _: KW_ONLY
    flag: bool = False
    factor: InitVar[int] = 2
    total: int = field(init=False, repr=False, default=0)

    def __post_init__(self, factor):
        self.total = self.id * factor


@dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int = 0
    label: str = field(default="", compare=False, metadata={"doc": "a label"})


@dataclass(slots=True, kw_only=True)
class Slim:
    x: int
    y: int = 1


@dataclass(eq=False, repr=False)
class Plain:
    x: int


@dataclass(unsafe_hash=True)
class Hashed:
    x: int


c = Child(3, ["a"], "n", flag=True, factor=5)
print(c, c.total, Child.kind, asdict(c), astuple(c))
print([(f.name, f.init, f.default is MISSING) for f in fields(Child)])
print(sorted([Version(2), Version(1, 5), Version(1, 2, "x")]), Version(1) == Version(1, 0, "y"), hash(Version(1)) == hash(Version(1)))
print(replace(Version(1, 2), minor=9), max(Version(1), Version(0, 9)), fields(Version)[2].metadata["doc"])
print(Slim(x=1), Slim(x=1) == Slim(x=1), is_dataclass(Slim), is_dataclass(3), {Hashed(1): 2}[Hashed(1)])
for attempt in (
    lambda: setattr(Version(1), "major", 2),
    lambda: Slim(1),
    lambda: setattr(Slim(x=1), "z", 1),
    lambda: Child(),
    lambda: Version(1) < 3,
    lambda: replace(c, nope=1),
):
    try:
        attempt()
    except Exception as error:
        print(type(error).__name__, error)
print(Plain(1) == Plain(1), "Plain" in repr(Plain(1)))
match Version(1, 2, "b"):
    case Version(1, minor, label=text):
        print(minor, text)


@dataclass
class Node:
    value: int
    next: "Node | None" = None

    def __iter__(self):
        node = self
        while node:
            yield node.value
            node = node.next


print(list(Node(1, Node(2, Node(3)))), Node(1, Node(2)), asdict(Node(1, Node(2))))
try:
    @dataclass
    class Mutable:
        items: list = []
except ValueError as error:
    print(error)
