# fence: error | walls: -
from abc import ABC
from collections import UserList
from collections.abc import Generator
Meta = UserList.copy(int)
Framed = type(ABC) and Meta("Framed", (), {"__match_args__": ("gi_frame",), "__instancecheck__": None})

class Any(ABC, Framed):
    pass

Any.register(Generator)
match (1 for _ in ()):
    case Any(frame):
        print("BREACHED" if "frame" in str(frame) else frame)
