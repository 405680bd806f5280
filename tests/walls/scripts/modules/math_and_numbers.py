import cmath
import math
import numbers
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from fractions import Fraction

print(math.sqrt(16), math.ceil(1.2), math.floor(-1.2), math.trunc(-1.7), math.factorial(10), math.gcd(12, 18, 27), math.lcm(4, 6), math.comb(5, 2), math.perm(5, 2), math.prod([1, 2, 3]))
print(math.log(8, 2), math.log2(8), math.log10(1000), math.exp(1) == math.e, math.hypot(3, 4), math.dist([0, 0], [3, 4]), math.isclose(0.1 + 0.2, 0.3), math.fsum([0.1] * 10), math.inf > 1, math.isnan(math.nan))
print(round(math.sin(math.pi / 6), 6), math.degrees(math.pi), math.radians(180) == math.pi, math.modf(2.5), math.frexp(8), math.copysign(1, -0.0), math.isqrt(17), math.cbrt(27), math.ulp(1.0), math.nextafter(1, 2))
print(Decimal("0.1") + Decimal("0.2"), Decimal("2.675").quantize(Decimal("0.01"), rounding=ROUND_HALF_UP), Decimal(1) / Decimal(3), Decimal("1e3"), Decimal("-1.50").normalize(), Decimal("10").sqrt(), sum(map(Decimal, ["1.1", "2.2"])), max(Decimal(1), Decimal("1.5")), Decimal("3.14").as_tuple(), f"{Decimal('1234.5'):,.2f}", Decimal(0.5), int(Decimal("3.9")), Decimal("NaN").is_nan())
print(Fraction(1, 3) + Fraction(1, 6), Fraction("0.125"), Fraction(0.5), Fraction(7, 2).limit_denominator(2), Fraction(3, 4).numerator, float(Fraction(1, 4)), Fraction(5, 3) // 1, round(Fraction(7, 2)), sum([Fraction(1, n) for n in range(1, 5)]))
print(cmath.sqrt(-1), cmath.phase(1j), abs(3 + 4j), (1 + 2j).conjugate(), cmath.polar(1j)[0], isinstance(3, numbers.Number), isinstance(Fraction(1), numbers.Rational), isinstance(2.5, numbers.Integral))
for bad in (lambda: math.sqrt(-1), lambda: math.factorial(-1), lambda: math.log(0), lambda: Decimal("x"), lambda: Decimal(1) / 0, lambda: Fraction(1, 0), lambda: Decimal(1) + 1.5, lambda: math.factorial(1.5), lambda: math.exp(1000)):
    try:
        bad()
    except Exception as error:
        print(type(error).__name__, error)
