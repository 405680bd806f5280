# fence: rejected | walls: -
from enum import Enum

class Color(Enum):
    RED = 1

Real = Color.__mro__[-2]
Made = Real("Made", {"__match_args__": ("gi_frame",), "A": 1})
print("BREACHED" if Made.__match_args__ == ("gi_frame",) else "")
