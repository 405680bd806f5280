from dataclasses import dataclass
from functools import total_ordering


@total_ordering
@dataclass(frozen=True)
class Length:
    metres: float

    UNITS = {"m": 1, "km": 1000, "cm": 0.01}

    @classmethod
    def of(cls, text):
        number, unit = text.split()
        return cls(float(number) * cls.UNITS[unit])

    def __add__(self, other):
        return Length(self.metres + other.metres)

    def __mul__(self, k):
        return Length(self.metres * k)

    __rmul__ = __mul__

    def __lt__(self, other):
        return self.metres < other.metres

    def __format__(self, spec):
        unit = spec or "m"
        return f"{self.metres / self.UNITS[unit]:g} {unit}"


a, b = Length.of("1.5 km"), Length.of("250 m")
print(f"{a + b:km} {2 * b} {b:cm}", a > b, a >= b, sorted([a, b])[0], max(a, b) == a, sum([a, b], Length(0)))
