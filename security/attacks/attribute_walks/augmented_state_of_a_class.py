# fence: rejected | walls: -
from abc import ABC

class Spy:
    def __radd__(self, other):
        found.append(other)
        return 1

found = []

class Shape(ABC):
    pass

Shape._abc_impl += Spy()
print("BREACHED" if found else "")
