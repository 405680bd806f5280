# fence: error | walls: -
import statistics
from abc import ABC

class Shape(ABC):
    pass

class Sum:
    def __radd__(self, other):
        return self
    __add__ = __mul__ = __radd__
    def __truediv__(self, count):
        return Shape
    @staticmethod
    def is_finite():
        return False

class Item:
    @staticmethod
    def as_integer_ratio():
        return (Sum(), None)

Meta = statistics.variance([Item, Item])
print(Meta("Made", (), {"__str__": lambda self: "BREACHED"})())
