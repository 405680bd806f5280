# fence: rejected | walls: -
import copy
from abc import ABC
from collections.abc import Generator

class Framed(ABC):
    pass

class Box:
    pass

box = Box()
box.__dict__["__reduce_ex__"] = lambda protocol: (lambda: Framed, (), (None, {"__match_args__": ("gi_frame",)}))
copy.copy(box)
Framed.register(Generator)
match (1 for _ in ()):
    case Framed(frame):
        print("BREACHED" if "frame" in str(frame) else frame)
