import csv
from datetime import date
from decimal import Decimal
from fractions import Fraction


class Next(int):
    def __new__(cls, value):
        return int.__new__(cls, value + 1)


class Single:
    one = None

    def __new__(cls):
        if cls.one is None:
            cls.one = object.__new__(cls)
        return cls.one


class Pair(tuple):
    def __new__(cls, left, right):
        return super().__new__(cls, (left, right))


class Quiet(property):
    def __init__(self):
        pass


class Items(list):
    def __new__(cls, *items):
        return list.__new__(cls)

    def __init__(self, *items):
        super().__init__(items)


print(int.__new__(int, "5"), str.__new__(str, "a"), tuple.__new__(tuple, [1]), list.__new__(list), dict.__new__(dict))
print(Fraction.__new__(Fraction, 1, 2), Decimal.__new__(Decimal, "1"), date.__new__(date, 2000, 1, 1), bytes.__new__(bytes, 2))
print(Next(1), Single() is Single(), Pair(1, 2), type(Quiet()).__name__, Items(1, 2), object.__new__(Single).one is None)
print(type(object.__new__(object)).__name__, ValueError.__new__(ValueError, "a").args)
for attempt in (lambda: int.__new__(str), lambda: int.__new__(1), lambda: object.__new__(int), lambda: int.__new__()):
    try:
        print(attempt())
    except TypeError:
        print("TypeError")

rows = csv.reader(line for line in ["a,b", '"c', 'd",e'])
print(next(rows), rows.line_num, list(rows), rows.line_num)
print(list(csv.reader(["a;b"], delimiter=";")), list(csv.reader(["a|b"], "excel-tab")), list(csv.DictReader(["a,b", "1,2"])))
for wrong in (5, None, [1]):
    try:
        print(list(csv.reader(wrong)))
    except (TypeError, csv.Error) as error:
        print(type(error).__name__)
