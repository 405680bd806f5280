from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

prices = ["19.99", "5.01", "0.10"]
total = sum(map(Decimal, prices))
vat = (total * Decimal("0.2")).quantize(Decimal("0.01"), ROUND_HALF_UP)
print(total, vat, total + vat, f"{total + vat:>10,.2f}", Decimal("2.5").quantize(Decimal("1"), ROUND_HALF_EVEN), 0.1 + 0.2, Decimal("0.1") * 3)
shares = [Fraction(1, 3), Fraction(1, 6), Fraction(1, 2)]
print(sum(shares), [str(s) for s in shares], [float(s) for s in shares][:1], [round(total * s.numerator / s.denominator, 2) for s in shares])
