import abc
from abc import ABC, abstractmethod
from functools import singledispatch


class Shape(ABC):
    @property
    @abstractmethod
    def area(self): ...

    @classmethod
    @abstractmethod
    def unit(cls): ...

    @staticmethod
    @abstractmethod
    def sides(): ...

    def describe(self):
        return f"{type(self).__name__} {self.area}"


class Square(Shape):
    def __init__(self, s):
        self.s = s

    @property
    def area(self):
        return self.s**2

    @classmethod
    def unit(cls):
        return cls(1)

    @staticmethod
    def sides():
        return 4


print(Square(3).describe(), Square.unit().area, Square.sides())
try:
    class Half(Shape):
        @property
        def area(self):
            return 1
    Half()
except TypeError as error:
    print(str(error).replace("methods sides, unit", "methods").replace("'sides', 'unit'", "")[:52])


@singledispatch
def show(value):
    return f"object {value!r}"


@show.register
def _(value: int):
    return f"int {value}"


@show.register(list)
def _(value):
    return "[" + ", ".join(map(show, value)) + "]"


@show.register
def _(value: Shape):
    return "shape"


show.register(str, lambda value: f"text {value}")
print(show(1), show([1, "a", 2.5]), show(Square(1)), show.dispatch(bool)(True))
