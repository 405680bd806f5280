# fence: rejected | walls: -
from enum import Enum

class Spy:
    def __radd__(self, other):
        found.append(other)
        return 1

found = []

class Color(Enum):
    RED = 1

Color._convert_ += Spy()
print("BREACHED" if found else "")
