import math
from abc import ABC, abstractmethod


class Shape(ABC):
    @property
    @abstractmethod
    def area(self): ...

    def __lt__(self, other):
        return self.area < other.area

    def __repr__(self):
        return f"{type(self).__name__}(area={self.area:.2f})"


class Circle(Shape):
    def __init__(self, r):
        self.r = r

    @property
    def area(self):
        return math.pi * self.r**2


class Rect(Shape):
    def __init__(self, w, h):
        self.w, self.h = w, h

    @property
    def area(self):
        return self.w * self.h


class Square(Rect):
    def __init__(self, s):
        super().__init__(s, s)


shapes = [Circle(1), Square(2), Rect(1, 3.5)]
print(sorted(shapes), max(shapes), sum(s.area for s in shapes if not isinstance(s, Circle)), {type(s).__name__: s.area > 3 for s in shapes})
try:
    Shape()
except TypeError:
    print("abstract")
