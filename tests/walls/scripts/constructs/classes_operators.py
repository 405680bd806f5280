from functools import total_ordering


@total_ordering
class Money:
    def __init__(self, cents):
        self.cents = cents

    def __repr__(self):
        return f"Money({self.cents})"

    def __str__(self):
        return f"{self.cents / 100:.2f} €"

    def __add__(self, other):
        return Money(self.cents + getattr(other, "cents", other))

    __radd__ = __add__

    def __sub__(self, other):
        return Money(self.cents - other.cents)

    def __mul__(self, factor):
        return NotImplemented if isinstance(factor, Money) else Money(round(self.cents * factor))

    def __rmul__(self, factor):
        return self * factor

    def __truediv__(self, other):
        return self.cents / other.cents

    def __floordiv__(self, n):
        return Money(self.cents // n)

    def __mod__(self, n):
        return Money(self.cents % n)

    def __divmod__(self, n):
        return self // n, self % n

    def __pow__(self, n):
        return self.cents**n

    def __neg__(self):
        return Money(-self.cents)

    def __abs__(self):
        return Money(abs(self.cents))

    def __int__(self):
        return self.cents // 100

    def __float__(self):
        return self.cents / 100

    def __index__(self):
        return self.cents

    def __round__(self, digits=0):
        return Money(round(self.cents, digits - 2))

    def __eq__(self, other):
        return isinstance(other, Money) and self.cents == other.cents

    def __lt__(self, other):
        return self.cents < other.cents

    def __hash__(self):
        return hash(self.cents)

    def __iadd__(self, other):
        self.cents += other.cents
        return self

    def __matmul__(self, other):
        return "at"

    def __and__(self, other):
        return "and"

    def __or__(self, other):
        return "or"

    def __xor__(self, other):
        return "xor"

    def __lshift__(self, other):
        return "<<"

    def __invert__(self):
        return "~"


a, b = Money(1250), Money(300)
print(a + b, sum([a, b]), a - b, a * 2, 3 * b, a / b, a // 7, a % 7, divmod(a, 7), b**2, -a, abs(-a))
print(int(a), float(a), hex(b), round(a), a > b, a >= b, max(a, b), {a: 1}[Money(1250)], [0] * 400 and "ok")
print(a @ b, a & b, a | b, a ^ b, a << b, ~a, repr([a, b]), f"{a!s:>10}|{a!r}")
a += b
print(a.cents)
try:
    a * b
except TypeError as error:
    print(error)
