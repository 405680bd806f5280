# fence: rejected | walls: -
from dataclasses import dataclass, field, fields

shared = field(default="kept")

@dataclass
class First:
    first: str = shared

@dataclass
class Second:
    second: str = shared

@dataclass(init=False, eq=False)
class Third(First):
    second = "BREACHED"

print(repr(Third()))
